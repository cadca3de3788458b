//go:build linux

package transport

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// intruder is the UID of a user that is neither root nor the JVM's.
const intruder = 2000

// newContainer returns a sandbox that uses the real /tmp, with that mode. It removes the
// agent directory, theirs and proof before and after the test.
func newContainer(t *testing.T, mode uint32) *sandbox {
	t.Helper()
	jvmtest.ChmodTmp(t, mode)
	s := newSandbox(t)
	s.tmp = "/tmp"
	for _, name := range []string{helperapi.AgentDirectory, theirs, proof} {
		remove := func() {
			if err := os.RemoveAll(name); err != nil {
				t.Error(err)
			}
		}
		remove()
		t.Cleanup(remove)
	}
	return s
}

const (
	theirs = "/tmp/theirs" // the intruder's directory
	proof  = "/tmp/proof"  // what a planted program writes
)

// plant puts a program under the helper's name into a directory. If it runs, it writes the
// UID that it ran as to proof.
func (s *sandbox) plant(dir string, mode os.FileMode, owner int, helper Blob) {
	s.t.Helper()
	s.write(filepath.Join(dir, helper.Name), "#!/bin/sh\nid -u >>"+proof+"\n", 0o755)
	if err := os.Chmod(dir, mode); err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{dir, filepath.Join(dir, helper.Name)} {
		if err := os.Chown(name, owner, owner); err != nil {
			s.t.Fatal(err)
		}
	}
}

// notRun checks that no planted program ran, and that nothing was written next to it.
func (s *sandbox) notRun(dir string, helper Blob) {
	s.t.Helper()
	if ran, err := os.ReadFile(proof); err == nil {
		s.t.Fatalf("the planted program ran as user %s", ran)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != helper.Name {
		s.t.Errorf("in the planted directory is %v", entries)
	}
}

// eachShell runs a test with each shell that is likely to be a container's sh. With
// busybox, the tools are its own, too.
func eachShell(t *testing.T, test func(t *testing.T, sh []string)) {
	t.Helper()
	for _, sh := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		t.Run(sh[0], func(t *testing.T) {
			if _, err := exec.LookPath(sh[0]); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s is missing: install it", sh[0])
				}
				t.Skipf("%s is missing: install it", sh[0])
			}
			if sh[0] == "busybox" {
				tools := t.TempDir()
				if out, err := exec.CommandContext(t.Context(), "busybox", "--install", "-s", tools).CombinedOutput(); err != nil {
					t.Fatalf("busybox --install: %v\n%s", err, out)
				}
				t.Setenv("PATH", tools)
				sh = []string{filepath.Join(tools, "sh")}
			}
			test(t, sh)
		})
	}
}

// Whatever is in place of the agent directory, the script runs a helper from it or writes
// to it only if it belongs to root or to the script's user, and nobody else can write to it.
func TestScriptsObeyTheirOwn(t *testing.T) {
	jvmtest.NeedUsers(t)
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	eachShell(t, func(t *testing.T, sh []string) {
		for name, tc := range map[string]struct {
			dir   string // if it is not the agent directory, that is a link to it
			mode  os.FileMode
			owner int
		}{
			"another user's directory":              {helperapi.AgentDirectory, 0o755, intruder},
			"a directory that all may write to":     {helperapi.AgentDirectory, 0o777, 0},
			"a directory that a group may write to": {helperapi.AgentDirectory, 0o775, 0},
			"a link to another user's directory":    {theirs, 0o755, intruder},
			"a link to a directory of ours":         {theirs, 0o755, 0},
		} {
			t.Run(name, func(t *testing.T) {
				s := newContainer(t, 0o1777)
				s.sh = sh
				s.plant(tc.dir, tc.mode, tc.owner, helper)
				if tc.dir != helperapi.AgentDirectory {
					if err := os.Symlink(tc.dir, helperapi.AgentDirectory); err != nil {
						t.Fatal(err)
					}
				}
				if code := s.talk(helper); code != exitNotTrusted {
					t.Errorf("it ended with %d", code)
				}
				s.notRun(tc.dir, helper)
			})
		}
	})
}

// An untrusted file in a trusted directory is replaced, not run, and the helper is not
// written through a link.
func TestScriptsReplaceFiles(t *testing.T) {
	jvmtest.NeedUsers(t)
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	cases := map[string]func(s *sandbox) error{
		"another user's":  func(s *sandbox) error { return os.Chown(s.home(helper.Name), intruder, intruder) },
		"writable by all": func(s *sandbox) error { return os.Chmod(s.home(helper.Name), 0o777) },
		"a link": func(s *sandbox) error {
			s.plant(theirs, 0o755, intruder, helper)
			if err := os.Remove(s.home(helper.Name)); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(theirs, helper.Name), s.home(helper.Name))
		},
	}
	eachShell(t, func(t *testing.T, sh []string) {
		for name, given := range cases {
			t.Run(name, func(t *testing.T) {
				s := newContainer(t, 0o1777)
				s.sh = sh
				s.plant(helperapi.AgentDirectory, 0o755, 0, helper)
				if err := given(s); err != nil {
					t.Fatal(err)
				}
				if code := s.talk(helper); code != 0 {
					t.Errorf("it ended with %d", code)
				}
				if _, err := os.Stat(proof); err == nil {
					t.Error("the planted program ran")
				}
			})
		}
	})
}

// A user who keeps exchanging the directory cannot make root run a planted program, or
// write into the user's directory.
func TestScriptsInARace(t *testing.T) {
	rounds := jvmtest.Rounds(1000)
	jvmtest.NeedUsers(t)
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	for name, helperOf := range map[string]func(round int) Blob{
		"run": func(int) Blob { return helper },
		// A different helper in each round has to be installed in each round.
		"install": func(round int) Blob {
			return NewBlob("jmx-attach-", fmt.Appendf(nil, "%s%d\n", answering, round), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newContainer(t, 0o777)
			s.write(s.home(helper.Name), answering, 0o755)
			s.plant(theirs, 0o755, intruder, helper)
			race := jvmtest.Exchange(t, intruder, helperapi.AgentDirectory, theirs)
			ended := map[int]int{}
			names := map[string]bool{helper.Name: true}
			deadline := time.Now().Add(3 * time.Minute)
			for round := 0; round < rounds || ended[0] == 0 || ended[exitNotTrusted] == 0; round++ {
				if time.Now().After(deadline) {
					t.Fatalf("after %d rounds it has ended with %v: there was no race", round, ended)
				}
				brought := helperOf(round)
				code := s.talk(brought)
				if ran, err := os.ReadFile(proof); err == nil {
					t.Fatalf("round %d: the planted program ran as user %s", round, ran)
				}
				if ended[code]++; code != 0 && code != exitNotTrusted {
					t.Fatalf("round %d ended with %d", round, code)
				}
				if code == 0 {
					names[brought.Name] = true
				}
			}
			race.Stop()
			for _, dir := range []string{helperapi.AgentDirectory, theirs} {
				info, err := os.Stat(dir)
				if err != nil {
					t.Fatal(err)
				}
				want := len(names)
				if info.Sys().(*syscall.Stat_t).Uid == intruder {
					want = 1
				}
				if left, _ := os.ReadDir(dir); len(left) != want {
					t.Errorf("in %s are %d files, want %d", dir, len(left), want)
				}
			}
			t.Logf("ended with %v", ended)
		})
	}
}

// If /tmp is mounted noexec, the session leaves nothing behind there.
func TestScriptOnNoexec(t *testing.T) {
	helper := NewBlob("jmx-attach-", []byte(answering), "")
	eachShell(t, func(t *testing.T, sh []string) {
		for name, given := range map[string]func(s *sandbox){
			"alone":             func(*sandbox) {},
			"beside what stays": func(s *sandbox) { s.write(s.home("1-1.desired"), "", 0o644) },
		} {
			t.Run(name, func(t *testing.T) {
				s := newContainer(t, 0o1777)
				s.sh = sh
				given(s)
				jvmtest.NoexecTmp(t)
				before := listing(t)
				session, err := s.execInto(helper).Open(t.Context(), app)
				if err == nil {
					session.Close()
				}
				wantError(t, err, v1alpha1.ReasonHelperNotExecutable, helper.Name)
				if s.unread.Load() > 0 {
					t.Error("it left standard input unread")
				}
				if after := listing(t); after != before {
					t.Errorf("before there was %s, after it %s", before, after)
				}
			})
		}
	})
}

// listing returns the content of the agent directory.
func listing(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(helperapi.AgentDirectory)
	if os.IsNotExist(err) {
		return "nothing"
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(entries)
}
