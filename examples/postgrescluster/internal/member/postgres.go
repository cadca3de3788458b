package member

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// settings are those of each member, on the command line: there they win over ALTER SYSTEM,
// whose file pg_rewind and pg_basebackup copy. primary_conninfo, primary_slot_name and
// synchronous_standby_names are not among them: the operator sets these by ALTER SYSTEM.
func (c Config) settings() []string {
	var args []string
	for _, setting := range []string{
		"cluster_name=" + c.Name,
		"listen_addresses=" + c.Address,
		fmt.Sprintf("port=%d", Port),
		"unix_socket_directories=",
		"hba_file=" + c.hba(),
		"password_encryption=scram-sha-256",
		"logging_collector=off",
		"log_destination=stderr",
		"jit=off",
		"shared_buffers=32MB",
		// A standby needs at least as many as its primary ever had.
		"max_connections=100",
		"max_wal_senders=20",
		"max_replication_slots=20",
		"wal_level=replica",
		"hot_standby=on",
		// After the crash of one of its processes, it would be a primary again by itself.
		"restart_after_crash=off",
		// What pg_rewind and a standby that was away for a while read.
		"wal_keep_size=256MB",
		"max_slot_wal_keep_size=512MB",
		"wal_receiver_timeout=10s",
		"wal_sender_timeout=10s",
		"wal_retrieve_retry_interval=1s",
	} {
		args = append(args, "-c", setting)
	}
	return args
}

func (c Config) hba() string { return filepath.Join(c.Volume, "pg_hba.conf") }

// writeHBA lets nobody in without the password.
func (c Config) writeHBA() error {
	return os.WriteFile(c.hba(), []byte("host all all all scram-sha-256\nhost replication all all scram-sha-256\n"), 0o600)
}

// environment returns that of PostgreSQL's programs; the walreceiver has its password from it, too.
func (c Config) environment() []string {
	return []string{"PATH=" + c.Binaries + ":/usr/bin:/bin", "LC_ALL=C.UTF-8", "TZ=UTC", "PGPASSWORD=" + c.Password, "PGCONNECT_TIMEOUT=5"}
}

// program runs one of PostgreSQL's programs to its end; the error has what it said last.
func (c Config) program(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Binaries, name), args...)
	// Its own end may take a moment: it removes what it left.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	var stdout bytes.Buffer
	last := &tail{}
	cmd.Env, cmd.Stdout, cmd.Stderr = c.environment(), io.MultiWriter(&stdout, c.Log), io.MultiWriter(last, c.Log)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, last)
	}
	return stdout.String(), nil
}

// serve runs PostgreSQL as a standby until the context ends, which shuts it down without
// waiting for its clients, or until it ends by itself, which is an error. When it takes
// connections, ready is called, if there is one.
func (c Config) serve(ctx context.Context, lock *os.File, ready func(), extra ...string) error {
	if err := os.WriteFile(filepath.Join(c.data(), "standby.signal"), nil, 0o600); err != nil {
		return failed(PostgresEnded, "The data directory cannot be written", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.Binaries, "postgres"), append(append([]string{"-D", c.data()}, c.settings()...), extra...)...)
	// SIGTERM would wait for clients.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	last := &tail{ready: ready}
	cmd.Env, cmd.Stdout, cmd.Stderr = c.environment(), c.Log, io.MultiWriter(last, c.Log)
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Run(); ctx.Err() == nil {
		return failed(PostgresEnded, "PostgreSQL exited unexpectedly", fmt.Errorf("%w: %s", err, last))
	}
	return nil
}

// tail keeps the last lines that are no mere information, and notices that a server is ready.
type tail struct {
	mu      sync.Mutex
	partial []byte
	lines   []string
	ready   func()
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partial = append(t.partial, p...)
	for {
		line, rest, ok := bytes.Cut(t.partial, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		t.partial = rest
		t.line(string(line))
	}
}

func (t *tail) line(line string) {
	if t.ready != nil && strings.Contains(line, "database system is ready to accept") {
		t.ready()
		t.ready = nil
	}
	if strings.Contains(line, "LOG: ") || strings.Contains(line, "HINT: ") {
		return
	}
	if t.lines = append(t.lines, line); len(t.lines) > 5 {
		t.lines = t.lines[1:]
	}
}

// String is the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	if len(t.partial) > 0 {
		lines = append(slices.Clip(lines), string(t.partial))
	}
	return strings.Join(lines, "; ")
}

// control returns what pg_controldata prints.
func (c Config) control(ctx context.Context) (map[string]string, error) {
	quiet := c
	quiet.Log = io.Discard
	out, err := quiet.program(ctx, "pg_controldata", "-D", c.data())
	values := map[string]string{}
	for scanner := bufio.NewScanner(strings.NewReader(out)); scanner.Scan(); {
		name, value, _ := strings.Cut(scanner.Text(), ":")
		values[name] = strings.TrimSpace(value)
	}
	return values, err
}
