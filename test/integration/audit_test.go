package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// auditLog is the audit log of the API server, written by the policy in config/audit.
var auditLog string

// audit configures the API server to write it.
func audit(environment *envtest.Environment) (remove func(), err error) {
	folder, err := os.MkdirTemp("", "audit-")
	if err != nil {
		return nil, err
	}
	policy, err := filepath.Abs("../../config/audit/policy.yaml")
	if err != nil {
		return nil, err
	}
	auditLog = filepath.Join(folder, "audit.log")
	environment.ControlPlane.GetAPIServer().Configure().Append("audit-policy-file", policy).Append("audit-log-path", auditLog)
	return func() { os.RemoveAll(folder) }, nil
}

// auditEvent holds the fields of an audit event that the tests read.
type auditEvent struct {
	Stage     string
	Verb      string
	UserAgent string
	// ImpersonatedUser is the user whose rights applied.
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ Resource, Subresource, Namespace, Name string }
}

// audited returns the events on objects of the namespace.
func (c *cluster) audited() (events []auditEvent) {
	c.t.Helper()
	log, err := os.ReadFile(auditLog)
	if err != nil {
		c.t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(log))
	for {
		var e auditEvent
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the last line may be half written
			return events
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if e.ObjectRef.Namespace == c.namespace {
			events = append(events, e)
		}
	}
}

// The audit log links an exec to the exporter that caused it, and the exporter to the user
// who created it, even if the user's name tries to forge both.
func TestAuditLogNamesRequester(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]string{
		"a developer": "dev@example.com",
		"a forger":    "eve; exporter=shop/innocent) (verb=inspect",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			s.pod = s.run(aPod("app-0"))
			s.grant(user, "../../config/rbac/attach_role.yaml")
			s.configure(rules)
			exporter := s.anExporter("exporter")
			// As the admission policy of config/stamp does.
			exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: user, v1alpha1.AnnotationRequesterGroups: "[]"}
			if err := s.impersonating(user).Create(t.Context(), exporter); err != nil {
				t.Fatal(err)
			}
			// There is no kubelet: the scripted containers are attached to, and then the API server
			// receives the execs of a change of the configuration.
			s.operate().settle()
			s.configure("lowercaseOutputName: true\n" + rules)
			o := s.overTheAPI()
			for range 3 {
				_, _ = o.round() // it fails without a kubelet
				o.later(time.Hour)
			}

			exporterName := s.namespace + "/exporter"
			eventually(t, func() bool {
				var asked, executed string
				for _, e := range s.audited() {
					switch {
					case e.ObjectRef.Resource == "prometheusjmxexporters" && e.Verb == "create":
						asked = e.ImpersonatedUser.Username
					case e.ObjectRef.Subresource == "exec" && e.ObjectRef.Name == s.pod.Name:
						executed = e.UserAgent
					}
				}
				return asked == user && executed == "jmx-exporter-operator/test (exporter="+exporterName+"; requester="+url.PathEscape(user)+"; verb=attach)"
			})
			s.answersByJQ(map[string]string{"exporter": exporterName, "requester": url.PathEscape(user), "verb": "attach", "container": "app"})
		})
	}
}

// The Events of a pod name the requester and the exporter that caused the attach or detach.
func TestEventsNameRequester(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	s.run(aPod("app-0"))
	const user = "eve\x1b[31m\" of exporter innocent\u202e"
	s.grant(user, "../../config/rbac/attach_role.yaml")
	s.exporter = s.export("exporter")
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: user, v1alpha1.AnnotationRequesterGroups: "[]"}
	})
	o := s.operate()
	o.settle()
	is := func(reason, begins string) {
		t.Helper()
		events := o.events.with(reason)
		if len(events) != 1 || !strings.HasPrefix(events[0].Note, begins) || events[0].Regarding != "*v1.Pod" {
			t.Errorf("got Events %q, want one on the pod that begins with %q", events, begins)
		}
	}
	is("Loaded", `Attached by exporter exporter of requester "eve\" of exporter innocent?". The agent serves port 9400`)
	remove(t, s.exporter)
	s.garbageCollect()
	o.outlast()
	is("Detached", "Detached for exporter exporter; the agent in process 7 of container app (port 9400) is stopped.")
}

// answersByJQ compares the last answer of the documented command about the pod with want.
func (s *story) answersByJQ(want map[string]string) {
	s.t.Helper()
	if _, err := exec.LookPath("jq"); err != nil {
		s.t.Log("jq is not installed; the documented command is not tested")
		return
	}
	answers := s.byJQ()
	if len(answers) == 0 {
		s.t.Fatal("the documented command prints nothing")
	}
	answer := answers[len(answers)-1]
	got := map[string]string{}
	for key := range want {
		got[key], _ = answer[key].(string)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("answer of the documented command (-want +got):\n%s", diff)
	}
}

// byJQ returns the answers of the documented command about the pod.
func (s *story) byJQ() (answers []map[string]any) {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "jq", "-s", "-c", "--arg", "namespace", s.namespace, "--arg", "pod", s.pod.Name, "-f", "../../config/audit/sessions.jq", auditLog).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var answer map[string]any
		err := decoder.Decode(&answer)
		if errors.Is(err, io.EOF) {
			return answers
		}
		if err != nil {
			s.t.Fatalf("%s: %v", out, err)
		}
		answers = append(answers, answer)
	}
}

// impersonating returns a client of an administrator that impersonates a user.
func (c *cluster) impersonating(user string) client.Client {
	c.t.Helper()
	config := rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	as, err := newClient(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return as
}

// overTheAPI starts an operator whose execs go through the API server.
func (c *cluster) overTheAPI() *operator {
	c.t.Helper()
	config := rest.CopyConfig(config)
	config.UserAgent = "jmx-exporter-operator/test"
	exec := transport.NewExec(transport.NewStreams(config, clientsetOf(c.t, config).CoreV1().RESTClient()), artifacts, effects.Direct, transport.NewLimits(4, 4, 4))
	o := c.operate()
	o.attachments.(*attachment.Reconciler).Sessions = func() attachment.Session { return transport.NewSessions(exec) }
	return o
}

// What a client claims about itself replaces nothing that the API server recorded, and
// hides no exec: neither by a User-Agent nor by the auditID of another request.
func TestAuditLogForged(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is not installed")
	}
	s := &story{cluster: newCluster(t)}
	s.pod = s.run(aPod("app-0"))
	executes := func(userAgent string) {
		t.Helper()
		request := clientsetOf(t, config).CoreV1().RESTClient().Post().
			Namespace(s.namespace).Resource("pods").Name(s.pod.Name).SubResource("exec").
			SetHeader("User-Agent", userAgent).SetHeader("Audit-ID", "of-"+s.namespace).
			VersionedParams(&corev1.PodExecOptions{Container: "app", Command: []string{"id"}, Stdout: true}, clientgoscheme.ParameterCodec)
		if err := request.Do(t.Context()).Error(); err == nil {
			t.Fatal("the exec succeeded, although there is no kubelet")
		}
	}
	executes("jmx-exporter-operator/test (exporter=shop/first; requester=dev; verb=attach)")
	executes("jmx-exporter-operator/test (exporter=shop/second; operator=somebody; container=other; code=101; time=never)")
	// Of a failed request, the log has one or two stages.
	eventually(t, func() bool {
		count := 0
		for _, e := range s.audited() {
			if e.ObjectRef.Subresource == "exec" && e.Stage == "ResponseComplete" {
				count++
			}
		}
		return count == 2
	})
	answers := s.byJQ()
	if len(answers) != 2 {
		t.Fatalf("got answers %v, want one for each of the two requests", answers)
	}
	for i, exporter := range []string{"shop/first", "shop/second"} {
		if got := answers[i]; got["exporter"] != exporter || got["operator"] != "admin" || got["container"] != "app" || got["code"] == "101" || got["time"] == "never" {
			t.Errorf("answer %d contains forged fields: %v", i, got)
		}
	}
}
