//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// operator is the process of an operator.
type operator struct {
	cmd     *exec.Cmd
	address string
	started time.Time
}

// usualQPS is the limit of requests of cmd/manager.
const usualQPS = 100

// start starts an operator with a share of the namespaces.
func (w *world) start(ctx context.Context, qps int, share shard.Shard) (*operator, error) {
	c := w.config
	content, err := json.Marshal(setup{c.Host, c.CAData, c.CertData, c.KeyData, qps, share})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(w.dir, fmt.Sprintf("operator-%d.json", share.Index))
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &operator{cmd: exec.CommandContext(ctx, program), started: time.Now()}
	// The control plane changes GOGC for itself.
	o.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }), operatorVariable+"="+file)
	o.cmd.Stderr = os.Stderr
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	o.address = strings.TrimSpace(line)
	return o, err
}

// stop ends the operator.
func (o *operator) stop() error {
	if err := o.cmd.Process.Kill(); err != nil {
		return err
	}
	var exited *exec.ExitError
	if err := o.cmd.Wait(); err != nil && !errors.As(err, &exited) {
		return err
	}
	return nil
}

// get returns what the operator serves at a path.
func (o *operator) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, response.Status)
	}
	return io.ReadAll(response.Body)
}

// state returns the operator's state: without the size of its heap and its reconciles, which
// cost it CPU time, unless all is asked for.
func (o *operator) state(ctx context.Context, all bool) (state, error) {
	path := "/state"
	if all {
		path += "?all"
	}
	var s state
	content, err := o.get(ctx, path)
	if err == nil {
		err = json.Unmarshal(content, &s)
	}
	return s, err
}

// idle waits until the operator has sent no request for some seconds, and returns its state.
func (o *operator) idle(ctx context.Context) (state, error) {
	const quiet = 5 * time.Second
	last, err := o.state(ctx, false)
	for since := time.Now(); err == nil && time.Since(since) < quiet; {
		time.Sleep(quiet / 10)
		var now state
		if now, err = o.state(ctx, false); now.requests() != last.requests() {
			since = time.Now()
		}
		last = now
	}
	return last, err
}

func (s state) requests() (sum int64) {
	for _, n := range s.Requests {
		sum += n
	}
	return sum
}

// save writes a profile of the operator into a directory.
func (o *operator) save(ctx context.Context, path, file string) error {
	content, err := o.get(ctx, path)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
