package integration

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/command"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/judge"
	"banzaicloud.com/jmx-exporter-operator/test/golden"
)

// kubectl runs kubectl jmx as a user, with a kubeconfig.
type kubectl struct {
	t          *testing.T
	kubeconfig string
	clock      *testclock.FakeClock
	stdin      string
	// dial leads into containers; nil for execs.
	dial judge.Dial
}

// aKubectl returns that of a user who has these rights in the namespace, and no others.
func aKubectl(t *testing.T, user, namespace string, rights ...rbacv1.PolicyRule) *kubectl {
	t.Helper()
	certificates.Lock()
	defer certificates.Unlock()
	added, err := environment.AddUser(envtest.User{Name: user, Groups: []string{"system:authenticated"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := added.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	k := &kubectl{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), clock: testclock.NewFakeClock(noon)}
	if err := os.WriteFile(k.kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(rights) > 0 {
		role := &rbacv1.Role{Rules: rights}
		role.Namespace, role.Name = namespace, user
		create(t, role)
		binding := &rbacv1.RoleBinding{
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		}
		binding.Namespace, binding.Name = namespace, user
		create(t, binding)
	}
	return k
}

// noon is the present time of kubectl jmx.
var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// run runs a command line, and returns what it prints, and its error.
func (k *kubectl) run(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errOut shown
	err = k.stream(ctx, &out, &errOut, args...)
	return out.String(), errOut.String(), err
}

func (k *kubectl) stream(ctx context.Context, out, errOut *shown, args ...string) error {
	streams := genericiooptions.IOStreams{In: strings.NewReader(k.stdin), Out: out, ErrOut: errOut}
	c := command.New(streams, k.clock)
	if k.dial != nil {
		c = command.NewWith(streams, k.clock, k.dial)
	}
	c.SetArgs(slices.Insert(slices.Clone(args), 1, "--kubeconfig", k.kubeconfig))
	return c.ExecuteContext(ctx)
}

// shown is what a command has printed so far.
type shown struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *shown) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *shown) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

func (s *shown) has(part string) func() bool {
	return func() bool { return strings.Contains(s.String(), part) }
}

// must runs a command line that succeeds, and returns what it prints.
func (k *kubectl) must(args ...string) string {
	k.t.Helper()
	stdout, stderr, err := k.run(k.t.Context(), args...)
	if err != nil {
		k.t.Fatalf("kubectl jmx %s: %v\n%s%s", strings.Join(args, " "), err, stdout, stderr)
	}
	return stdout
}

// fails runs a command line that fails, and checks parts of its error.
func (k *kubectl) fails(args []string, want ...string) {
	k.t.Helper()
	stdout, _, err := k.run(k.t.Context(), args...)
	if err == nil {
		k.t.Errorf("kubectl jmx %s succeeds:\n%s", strings.Join(args, " "), stdout)
		return
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			k.t.Errorf("kubectl jmx %s: got error %q, want one with %q", strings.Join(args, " "), err, part)
		}
	}
}

// transcript is a command line with all that it prints, as in a terminal.
func (k *kubectl) transcript(args ...string) string {
	stdout, stderr, err := k.run(k.t.Context(), args...)
	shown := "$ kubectl jmx " + strings.Join(args, " ") + "\n" + stderr + stdout
	if err != nil {
		shown += "error: " + err.Error() + "\n"
	}
	return shown
}

// compare compares a text with a file of testdata/kubectl.
func compare(t *testing.T, name, got string) {
	t.Helper()
	golden.Compare(t, filepath.Join("testdata", "kubectl", name+".txt"), got)
}

func allow(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resource, " "), Verbs: verbs}
}

const kinds = "prometheusjmxexporters jmxattachments"

// viewer are the rights that all commands that only see need.
func viewer() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("banzaicloud.com", kinds, "get", "list", "watch"),
		allow("", "pods events configmaps", "get", "list"),
	}
}
