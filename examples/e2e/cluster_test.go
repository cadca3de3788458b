//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// conditionTimeout is how long a condition may take: machines that run tests are slow.
const conditionTimeout = 5 * time.Minute

// run runs a command, and returns what it prints.
func run(ctx context.Context, name string, args ...string) (string, error) {
	return runWith(ctx, "", name, args...)
}

func runWith(ctx context.Context, input, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

func kubectl(ctx context.Context, args ...string) (string, error) {
	return kubectlWith(ctx, "", args...)
}

// kubectlWith has a deadline beyond those that kubectl is given: what it executes in a
// container may wait for ever.
func kubectlWith(ctx context.Context, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*conditionTimeout)
	defer cancel()
	return runWith(ctx, input, "kubectl", args...)
}

// A namespace is that of a feature.
type namespace string

func newNamespace(feature string) namespace {
	return namespace("e2e-" + feature + "-" + rand.String(5))
}

// kubectl runs it in the namespace; it fails the test if kubectl fails.
func (n namespace) kubectl(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	out, err := n.try(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (n namespace) try(ctx context.Context, args ...string) (string, error) {
	return kubectl(ctx, append([]string{"--namespace", string(n)}, args...)...)
}

// apply applies objects that are written in YAML.
func (n namespace) apply(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	if _, err := kubectlWith(ctx, text, "--namespace", string(n), "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// create and remove are the first and the last step of a feature.
func (n namespace) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	if _, err := kubectl(ctx, "create", "namespace", string(n)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func (n namespace) remove(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	t.Helper()
	if t.Failed() {
		for _, args := range [][]string{{"get", "pods,services,pvc,postgresclusters,pulsarconsumers", "-o", "wide"}, {"get", "postgresclusters,pulsarconsumers,jmxattachments", "-o", "yaml"}, {"get", "events"}} {
			out, err := n.try(ctx, args...)
			t.Log(out, err)
		}
	}
	if _, err := kubectl(ctx, "delete", "namespace", string(n), "--timeout", conditionTimeout.String()); err != nil {
		t.Error(err)
	}
	return ctx
}

// step is a step of a feature.
func step(do func(ctx context.Context, t *testing.T)) features.Func {
	return func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
		t.Helper()
		do(ctx, t)
		return ctx
	}
}

// forward forwards a port of what kubectl names so to an address of this machine, while do does something.
func (n namespace) forward(ctx context.Context, target string, port int, do func(address string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	command := exec.CommandContext(ctx, "kubectl", "--namespace", string(n), "port-forward", target, fmt.Sprintf(":%d", port))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return err
	}
	defer func() {
		cancel()
		_ = command.Wait()
	}()
	line, _ := bufio.NewReader(stdout).ReadString('\n') // Forwarding from 127.0.0.1:41234 -> 8080
	_, rest, _ := strings.Cut(line, "from ")
	address, _, ok := strings.Cut(rest, " ")
	if !ok {
		cancel()
		_ = command.Wait()
		return fmt.Errorf("kubectl port-forward %s: %s", target, stderr.String())
	}
	return do(address)
}

// request returns the body of an answer with one of these codes.
func request(ctx context.Context, method, url string, codes ...int) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && !slices.Contains(codes, response.StatusCode) {
		err = fmt.Errorf("%s %s: %s: %s", method, url, response.Status, body)
	}
	return string(body), err
}

// eventually waits until nothing is missing, and fails the test with what still is.
func eventually(ctx context.Context, t *testing.T, missing func(context.Context) error) {
	t.Helper()
	last := errors.New("not looked at yet")
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, conditionTimeout, true, func(ctx context.Context) (bool, error) {
		if err := missing(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		t.Fatal(errors.Join(err, last))
	}
}
