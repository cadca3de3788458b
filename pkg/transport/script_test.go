package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	utilexec "k8s.io/client-go/util/exec"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// sandbox is a container for the script: a /tmp and a /proc of its own. It is the
// streams of an exec into it.
type sandbox struct {
	t                 *testing.T
	tmp, proc, cgroup string
	sh                []string // how its shell is started
	// transient has sessions leave nothing.
	transient bool
	// cut is after how many bytes standard input ends; 0 for not at all.
	cut int64
	// unread is how often a command ended and left standard input behind.
	unread atomic.Int32
}

func newSandbox(t *testing.T) *sandbox {
	s := &sandbox{t: t, tmp: t.TempDir(), proc: t.TempDir(), cgroup: t.TempDir(), sh: []string{"sh"}}
	s.write(filepath.Join(s.proc, "self", "mountinfo"), "1 2 /var/lib/kubelet/pods/uid-1/etc-hosts /etc/hosts\n", 0o644)
	s.write(filepath.Join(s.proc, "7", "maps"), "7f00 r-xp /opt/java/lib/server/libjvm.so\n", 0o644)
	return s
}

func (s *sandbox) write(path, content string, mode os.FileMode) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		s.t.Fatal(err)
	}
}

// withoutJava ends the Java process that runs in the container.
func (s *sandbox) withoutJava() {
	if err := os.RemoveAll(filepath.Join(s.proc, "7")); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) home(name string) string {
	return filepath.Join(s.tmp, filepath.Base(helperapi.AgentDirectory), name)
}

// stream runs a command as an exec would.
func (s *sandbox) Stream(ctx context.Context, _ Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	command = slices.Concat(s.sh, command[1:])
	script := len(s.sh) + 1
	command[script] = strings.NewReplacer("/tmp", s.tmp, "/proc/self/stat", "/proc/self/stat", "/proc/", s.proc+"/", "/sys/fs/cgroup", s.cgroup).Replace(command[script])
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdout, c.Stderr = stdout, stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	if s.cut > 0 {
		stdin = io.LimitReader(stdin, s.cut)
	}
	go func() {
		defer in.Close()
		if _, err := io.Copy(in, stdin); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			s.unread.Add(1)
		}
	}()
	err = c.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// execInto is an Exec into the sandbox that brings one helper.
func (s *sandbox) execInto(helper Blob) *Exec {
	return &Exec{
		streams: s, artifacts: &Artifacts{
			Helpers: map[string]Blob{"x86_64": helper, "aarch64": helper},
			Agent:   NewBlob("agent-", nil, ".jar"), Implementation: NewBlob("exporter-", nil, ".jar"),
		},
		seam: effects.Direct, limits: NewLimits(1, 1, 1),
	}
}

// talk opens a session, asks a question, and closes it. It returns what the script
// ended with, 0 if the helper answered.
func (s *sandbox) talk(helper Blob) int {
	s.t.Helper()
	// More than fits into a pipe: a script that leaves it would hang an exec.
	helper.Content = append(slices.Clone(helper.Content), make([]byte, max(0, helper.Size-int64(len(helper.Content))))...)
	e := s.execInto(helper)
	in := app
	in.Transient = s.transient
	session, err := e.Open(s.t.Context(), in)
	defer wantFree(s.t, e.limits)
	if err != nil {
		if exitCode(err) < 0 {
			s.t.Fatalf("the script did not end with a code: %v: %v", err, errors.Unwrap(err))
		}
		return exitCode(err)
	}
	defer session.Close()
	if session == (withoutJava{}) {
		return exitNoJava
	}
	for range 2 {
		report, err := session.Run(s.t.Context(), helperapi.VerbInspect, helperapi.Request{})
		if err != nil || report.HelperVersion != "serve "+e.artifacts.Agent.SHA256+" "+e.artifacts.Implementation.SHA256 {
			s.t.Fatalf("the helper said %+v, %v", report, err)
		}
	}
	return 0
}

// answering is a helper of some size.
var answering = `#!/bin/sh
id=0
echo '{"hello":{"version":"1"}}'
while read -r line; do
  id=$((id + 1))
  echo '{"id":'$id',"report":{"helperVersion":"'"$*"'"}}'
done
exit 0
` + strings.Repeat("#", 1<<18) + "\n"

func TestScript(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	there := func(s *sandbox) { s.write(s.home(helper.Name), answering, 0o755) }
	other := func(s *sandbox) { s.write(filepath.Join(s.proc, "7", "maps"), "7f00 r-xp /usr/bin/nginx\n", 0o644) }
	unreadable := func(s *sandbox) { s.write(filepath.Join(s.proc, "3", "maps", "x"), "", 0o644) }
	gone := func(s *sandbox) {
		s.write(filepath.Join(s.proc, "3", "stat"), "", 0o644)
		if err := os.Symlink("nowhere", filepath.Join(s.proc, "3", "maps")); err != nil {
			s.t.Fatal(err)
		}
	}
	machine := func(name string) func(*sandbox) {
		return func(s *sandbox) { s.write(filepath.Join(s.proc, "sys", "kernel", "arch"), name+"\n", 0o644) }
	}
	tasks := func(group, limit, used string) func(*sandbox) {
		return func(s *sandbox) {
			s.write(filepath.Join(s.cgroup, group, "pids.max"), limit+"\n", 0o444)
			s.write(filepath.Join(s.cgroup, group, "pids.current"), used+"\n", 0o444)
		}
	}
	cases := map[string]struct {
		helper *Blob
		given  []func(*sandbox)
		want   int
		// what lies in the directory afterwards; nil if there is none
		left []string
	}{
		"there":                  {given: []func(*sandbox){there}, left: []string{helper.Name}},
		"missing, with Java":     {left: []string{helper.Name}},
		"missing, no Java":       {given: []func(*sandbox){other}, want: exitNoJava},
		"missing, may hide Java": {given: []func(*sandbox){other, unreadable}, left: []string{helper.Name}},
		"missing, one is gone":   {given: []func(*sandbox){other, gone}, want: exitNoJava},
		"few tasks are left":     {given: []func(*sandbox){tasks("", "100", "85")}, want: exitFewTasks},
		"few tasks, version 1":   {given: []func(*sandbox){tasks("pids", "100", "100"), there}, want: exitFewTasks, left: []string{helper.Name}},
		"enough tasks are left":  {given: []func(*sandbox){tasks("", "100", "84")}, left: []string{helper.Name}},
		"tasks have no limit":    {given: []func(*sandbox){tasks("", "max", "84"), tasks("pids", "max", "84")}, left: []string{helper.Name}},
		"no process is seen":     {given: []func(*sandbox){(*sandbox).withoutJava}, want: exitNoJava},
		"one is gone, with Java": {given: []func(*sandbox){gone}, left: []string{helper.Name}},
		"the machine is known":   {given: []func(*sandbox){machine("aarch64")}, left: []string{helper.Name}},
		"an unknown machine":     {given: []func(*sandbox){machine("riscv64")}, want: exitUnknownMachine},
		"beside an older one":    {given: []func(*sandbox){func(s *sandbox) { s.write(s.home("jmx-attach-old"), "", 0o755) }}, left: []string{"jmx-attach-old", helper.Name}},
		"another pod":            {given: []func(*sandbox){func(s *sandbox) { s.write(filepath.Join(s.proc, "self/mountinfo"), "/pods/uid-2/\n", 0o644) }}, want: exitWrongPod},
		"cut":                    {given: []func(*sandbox){func(s *sandbox) { s.cut = 1 << 17 }}, want: exitCut, left: []string{}},
		"cut before the content": {given: []func(*sandbox){func(s *sandbox) { s.cut = 7 }}, want: exitCut, left: []string{}},
		"cut before the go":      {given: []func(*sandbox){func(s *sandbox) { s.cut = 6 }}, want: exitCut},
		"other content": {
			helper: &Blob{File: helperapi.File{Name: helper.Name, Size: helper.Size, SHA256: helper.SHA256}, Content: []byte(strings.ToUpper(answering))},
			want:   exitCut, left: []string{},
		},
		"a link instead of the directory": {
			given: []func(*sandbox){func(s *sandbox) {
				if err := os.Symlink(s.proc, strings.TrimSuffix(s.home(""), "/")); err != nil {
					s.t.Fatal(err)
				}
			}}, want: exitNotTrusted, left: []string{"7", "self"},
		},
		"a directory instead of the helper": {
			given: []func(*sandbox){func(s *sandbox) { s.write(s.home(helper.Name)+"/x", "", 0o644) }}, want: exitNotTrusted, left: []string{helper.Name},
		},
		"a file instead of the directory": {
			given: []func(*sandbox){func(s *sandbox) { s.write(s.home(""), "", 0o644) }}, want: exitNotTrusted,
		},
		"a directory that cannot be made": {
			given: []func(*sandbox){func(s *sandbox) { s.tmp = filepath.Join(s.tmp, "nowhere") }}, want: exitNotWritable,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			for _, given := range tc.given {
				given(s)
			}
			brought := helper
			if tc.helper != nil {
				brought = *tc.helper
			}
			if code := s.talk(brought); code != tc.want {
				t.Errorf("it ended with %d, not with %d", code, tc.want)
			}
			if n := s.unread.Load(); n > 0 {
				t.Error("it left standard input unread")
			}
			var left []string
			if entries, err := os.ReadDir(s.home("")); err == nil {
				left = []string{}
				for _, entry := range entries {
					left = append(left, entry.Name())
				}
			}
			slices.Sort(tc.left)
			if fmt.Sprintf("%#v", left) != fmt.Sprintf("%#v", tc.left) {
				t.Errorf("left behind: %#v, want %#v", left, tc.left)
			}
			if info, err := os.Stat(s.home(helper.Name)); err == nil && info.Mode().Perm() != 0o755 {
				t.Errorf("the helper's mode is %v", info.Mode())
			}
		})
	}
}

// What a shell prints when it starts is not part of the session, whether or not it
// ends with a newline.
func TestBanner(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	s := newSandbox(t)
	banner := filepath.Join(t.TempDir(), "sh")
	s.write(banner, "#!/bin/sh\nprintf 'Welcome!\\n{\"hello\":null}\\n$ '\nexec sh \"$@\"\n", 0o755)
	s.sh = []string{banner}
	if code := s.talk(helper); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// A container where a file fills up gets no part of the helper, and says so.
func TestNoSpaceForHelper(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	s := newSandbox(t)
	s.sh = []string{"sh", "-c", "ulimit -f 64; trap '' XFSZ; exec sh \"$@\"", "sh"}
	if code := s.talk(helper); code != exitWriteFailed && code != exitCut {
		t.Errorf("it ended with %d", code)
	}
	if left, _ := filepath.Glob(s.home("*")); len(left) > 0 || s.unread.Load() > 0 {
		t.Errorf("left behind: %v; unread: %d", left, s.unread.Load())
	}
}

// The helper is not asked for, and nothing is made, where it would not find room.
func TestRefusedSpace(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	s := newSandbox(t)
	in := app
	in.Space = pod.Space{Bytes: 2*helper.Size - 1, Bound: "limits.ephemeral-storage of the container is 1"}
	e := s.execInto(helper)
	begin := time.Now()
	_, err := e.Open(t.Context(), in)
	wantError(t, err, v1alpha1.ReasonStorageLimitTooLow, fmt.Sprintf("%d bytes", 2*helper.Size))
	if _, err := os.Stat(s.home("")); err == nil {
		t.Error("the directory was made")
	}
	if took := time.Since(begin); took >= wire.CloseTimeout {
		t.Errorf("the script did not end by itself: %s", took)
	}
	in.Space.Bytes++
	session, err := e.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
}
