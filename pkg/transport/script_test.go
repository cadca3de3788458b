package transport

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// sandbox is a container for the scripts: a /tmp and a /proc of its own.
type sandbox struct {
	t         *testing.T
	tmp, proc string
}

func newSandbox(t *testing.T) *sandbox {
	s := &sandbox{t: t, tmp: t.TempDir(), proc: t.TempDir()}
	s.write(filepath.Join(s.proc, "self", "mountinfo"), "1 2 /var/lib/kubelet/pods/uid-1/etc-hosts /etc/hosts\n", 0o644)
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

func (s *sandbox) home(name string) string {
	return filepath.Join(s.tmp, filepath.Base(attach.Home), name)
}

// run runs a script as an exec would, and returns its exit code and output.
func (s *sandbox) run(command []string, stdin string) (int, string) {
	s.t.Helper()
	command[2] = strings.NewReplacer(attach.Home, s.home(""), "/proc/", s.proc+"/").Replace(command[2])
	c := exec.CommandContext(s.t.Context(), command[0], command[1:]...)
	var out bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &out
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String()
}

const answering = "#!/bin/sh\nread -r line; echo \"$1 $2 $line\"; exit 1\n"

func TestInstallScript(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	cases := map[string]struct {
		given func(*sandbox)
		stdin string
		want  int
	}{
		"a new container": {stdin: "uid-1\n" + answering},
		"cut":             {stdin: "uid-1\n" + answering[:10], want: exitCut},
		"other content":   {stdin: "uid-1\n" + strings.ToUpper(answering), want: exitCut},
		"another pod":     {stdin: "uid-2\n" + answering, want: exitWrongPod},
		"a link instead of the directory": {
			given: func(s *sandbox) {
				if err := os.Symlink(s.proc, strings.TrimSuffix(s.home(""), "/")); err != nil {
					s.t.Fatal(err)
				}
			},
			stdin: "uid-1\n" + answering, want: exitNotTrusted,
		},
		"a file instead of the directory": {
			given: func(s *sandbox) { s.write(s.home(""), "", 0o644) },
			stdin: "uid-1\n" + answering, want: exitNotTrusted,
		},
		"an older copy is replaced": {
			given: func(s *sandbox) { s.write(s.home(helper.Name), "old", 0o644) },
			stdin: "uid-1\n" + answering,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			if tc.given != nil {
				tc.given(s)
			}
			code, out := s.run(installCommand(helper), tc.stdin)
			if code != tc.want || out != "" {
				t.Fatalf("it ended with %d and printed %q, not with %d", code, out, tc.want)
			}
			if tc.want != 0 {
				if _, err := os.Stat(s.home(helper.Name)); err == nil {
					t.Error("the helper is there all the same")
				}
			} else if info, err := os.Stat(s.home(helper.Name)); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the helper: %v, %v", info, err)
			}
			if left, _ := filepath.Glob(s.home(".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestRunScript(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	both := map[string]Blob{"x86_64": helper, "aarch64": helper}
	there := func(s *sandbox) { s.write(s.home(helper.Name), answering, 0o755) }
	java := func(s *sandbox) {
		s.write(filepath.Join(s.proc, "7", "maps"), "7f00 r-xp /opt/java/lib/server/libjvm.so\n", 0o644)
	}
	other := func(s *sandbox) { s.write(filepath.Join(s.proc, "7", "maps"), "7f00 r-xp /usr/bin/nginx\n", 0o644) }
	cases := map[string]struct {
		verb  attach.Verb
		given []func(*sandbox)
		want  int
		out   string
	}{
		"there":                {verb: attach.VerbInspect, given: []func(*sandbox){there}, want: 1, out: "inspect --request {}\n"},
		"missing, with Java":   {verb: attach.VerbInspect, given: []func(*sandbox){java}, want: exitHelperMissing, out: machine(t)},
		"missing, no Java":     {verb: attach.VerbInspect, given: []func(*sandbox){other}, want: exitNoJava},
		"missing, but told to": {verb: attach.VerbLoad, given: []func(*sandbox){other}, want: exitHelperMissing, out: machine(t)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			for _, given := range tc.given {
				given(s)
			}
			// More than fits into a pipe: a script that leaves it would hang an exec.
			code, out := s.run(runCommand(tc.verb, both), "{}\n"+strings.Repeat("x", 1<<20))
			if code != tc.want || out != tc.out {
				t.Errorf("it ended with %d and printed %q, not with %d and %q", code, out, tc.want, tc.out)
			}
		})
	}
}

func machine(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "uname", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
