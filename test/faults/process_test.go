package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// process is an operator in a process of its own.
type process struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	// ended is closed when the process has ended.
	ended chan struct{}
	log   *tail
}

// start starts an operator. receive is called for each of its messages.
func start(spec operatorSpec, receive func(*process, message)) (*process, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	program := os.Executable
	if spec.Previous {
		program = previousOperator
	}
	path, err := program()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(path), ended: make(chan struct{}), log: &tail{}}
	p.command.Env = append(os.Environ(), operatorVariable+"="+string(encoded), "GOMAXPROCS=2")
	p.command.Stderr = p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.read(stdout, receive)
		_ = p.command.Wait() // its state has the outcome
		close(p.ended)
	}()
	return p, nil
}

// previousOperator returns the path of this program in the previous release.
var previousOperator = sync.OnceValues(func() (string, error) { return ofPrevious() })

// ofPrevious returns what hack/previous prints.
func ofPrevious(what ...string) (string, error) {
	command := exec.Command("../../hack/previous", what...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	return strings.TrimSpace(string(out)), err
}

func (p *process) read(stdout io.Reader, receive func(*process, message)) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var line message
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			receive(p, line)
		}
	}
}

// resume ends the wait of an operator at its strike.
func (p *process) resume() { fmt.Fprintln(p.stdin) }

// kill ends the process at once, and returns when it is gone.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may be gone
	<-p.ended
}

// terminate asks the process to end.
func (p *process) terminate() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may be gone
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 60
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, strings.Split(strings.TrimSpace(string(p)), "\n")...)
	t.lines = t.lines[max(0, len(t.lines)-most):]
	return len(p), nil
}

// String returns the lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
