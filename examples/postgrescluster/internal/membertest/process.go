// Package membertest runs members as processes of this machine, each on a loopback address
// of its own and without privileges, as a kubelet runs them as containers.
package membertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/util/wait"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// installed is where Debian's package postgresql-15 has PostgreSQL's programs.
const installed = "/usr/lib/postgresql/15/bin"

// binaries is a directory of PostgreSQL's programs, of which the server has its shared memory in its
// volume, which goes with the test: in /dev/shm, a server that is killed leaves it behind.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "postgresql")
	if err != nil {
		return "", err
	}
	programs, err := os.ReadDir(installed)
	for _, p := range programs {
		if p.Name() != "postgres" {
			err = errors.Join(err, os.Symlink(filepath.Join(installed, p.Name()), filepath.Join(dir, p.Name())))
		}
	}
	server := "#!/bin/sh\nexec " + installed + `/postgres "$@" -c dynamic_shared_memory_type=mmap` + "\n"
	return dir, errors.Join(err, os.WriteFile(filepath.Join(dir, "postgres"), []byte(server), 0o755), os.Chmod(dir, 0o755)) //nolint:gosec // members execute it
})

// Password is that of each cluster of the tests.
const Password = "it's a secret"

// credential is whom members run as, the user of Debian's package: PostgreSQL does not run
// as root, nor as a user without a name.
var credential = sync.OnceValues(func() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
})

// own gives a file to whom members run as.
func own(t *testing.T, path string) *syscall.Credential {
	t.Helper()
	c, err := credential()
	if err == nil {
		err = os.Chown(path, int(c.Uid), int(c.Gid))
	}
	if err != nil {
		t.Fatalf("%v: PostgreSQL 15 is needed, and the tests as root (Debian's package postgresql-15)", err)
	}
	return c
}

var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "member")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "member")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/cmd/member")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, os.Chmod(dir, 0o755)
})

// memory is a directory of files in memory; empty, which is the default of os.MkdirTemp, if
// there is none with room for all members. What PostgreSQL syncs is not what these tests wait
// for: they crash processes, not the machine.
var memory = sync.OnceValue(func() string {
	const dir, room = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil || s.Bavail*uint64(s.Bsize) < room {
		return ""
	}
	return dir
})

// Volume returns an empty directory that members can write, and that goes with the test.
func Volume(t *testing.T) string {
	t.Helper()
	// The test's own directory is not for other users.
	dir, err := os.MkdirTemp(memory(), "volume") //nolint:usetesting // ^
	if err != nil {
		t.Fatal(err)
	}
	own(t, dir)
	t.Cleanup(func() {
		// Processes of a server that was killed may write for a moment.
		if wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 50*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			err = os.RemoveAll(dir)
			return err == nil, nil
		}) != nil {
			t.Error(err)
		}
	})
	return dir
}

// mount gives a volume to its group, as a kubelet does where the pod has an fsGroup: files and
// directories, with whatever is on it already.
func mount(t *testing.T, volume string, group uint32) {
	t.Helper()
	err := filepath.WalkDir(volume, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode() | 0o660
		if entry.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		return errors.Join(os.Chown(path, -1, int(group)), os.Chmod(path, mode))
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // who was here before is still going
		t.Error(err)
	}
}

// Process is a member that was started.
type Process struct {
	cmd     *exec.Cmd
	log     *buffer
	message string
	done    chan struct{}
	err     error
}

// Start starts a member; what the environment lacks of a member's has defaults. It ends
// with the test at the latest.
func Start(t *testing.T, verb member.Verb, volume, address string, env ...string) *Process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	message, err := os.CreateTemp("", "termination-log") //nolint:usetesting // as in Volume
	if err != nil {
		t.Fatal(err)
	}
	_ = message.Close()
	p := &Process{cmd: exec.CommandContext(t.Context(), path, string(verb)), log: &buffer{}, message: message.Name(), done: make(chan struct{})}
	p.cmd.Env = slices.Concat([]string{
		member.EnvVolume + "=" + volume, member.EnvAddress + "=" + address,
		member.EnvPassword + "=" + Password, member.EnvTerminationLog + "=" + message.Name(),
	}, env, []string{member.EnvBinaries + "=" + programs})
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = p.log, p.log, "/"
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: own(t, message.Name()), Setpgid: true}
	// The log is a pipe that children of a member that was killed hold open.
	p.cmd.WaitDelay = time.Second
	mount(t, volume, p.cmd.SysProcAttr.Credential.Gid)
	if err := p.cmd.Start(); err != nil {
		close(p.done)
		if t.Context().Err() == nil {
			t.Error(err)
		}
		return p
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		_ = os.Remove(p.message)
		if t.Failed() {
			t.Logf("%s %s:\n%s", verb, address, p.log)
		}
	})
	return p
}

// Kill ends the member and all processes of it, as the end of a container does.
func (p *Process) Kill() {
	if p.cmd.Process != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-p.done
}

// Stop ends the member as a kubelet ends a container.
func (p *Process) Stop() {
	if p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	<-p.done
}

// Processes are the member and all processes that it started, parents before children: a server is the
// second, and those that it serves with are in sessions of their own, which no signal to the group
// reaches.
func (p *Process) Processes() []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		var pid, parent int
		stat, _ := os.ReadFile(path)
		// The name, in parentheses, may contain anything.
		if i := bytes.LastIndexByte(stat, ')'); i > 0 {
			var state string
			_, _ = fmt.Sscan(string(stat), &pid)
			_, _ = fmt.Sscan(string(stat[i+1:]), &state, &parent)
			children[parent] = append(children[parent], pid)
		}
	}
	if p.cmd.Process == nil {
		return nil
	}
	all := []int{p.cmd.Process.Pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// Done is closed when the member has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Succeeded reports whether the member, which has ended, exited with 0.
func (p *Process) Succeeded() bool { return p.err == nil }

// Message is what the member wrote into its termination log.
func (p *Process) Message() string {
	message, _ := os.ReadFile(p.message)
	return string(message)
}

// Log is what the member and PostgreSQL said so far.
func (p *Process) Log() string { return p.log.String() }

// Connect connects to a member, which may come up only later.
func Connect(ctx context.Context, address string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=%s dbname=postgres connect_timeout=2", address, member.Port, member.User))
	if err != nil {
		return nil, err
	}
	config.Password = Password
	return pgx.ConnectConfig(ctx, config)
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
