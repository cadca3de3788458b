package applications

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A machine runs the JVMs of a test.
type machine struct {
	t    *testing.T
	name string // of the application
	dir  string // for its files
}

// jars is the class path of the application.
func (m machine) jars() string { return filepath.Join(root, "bin/applications", m.name, "*") }

// file returns the path of a file of the application's folder here.
func (m machine) file(name string) string { return filepath.Join(m.name, name) }

// read returns the content of such a file.
func (m machine) read(name string) string {
	m.t.Helper()
	data, err := os.ReadFile(m.file(name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

// javaOf returns the java of the tests. Cassandra does not run on Java 24 or later.
func javaOf(t *testing.T) string {
	t.Helper()
	return filepath.Join(jvmtest.Need(t, 17).Home, "bin/java")
}

// java starts a JVM with the application's class path until the test ends.
func (m machine) java(args ...string) *exec.Cmd {
	m.t.Helper()
	return m.start(javaOf(m.t), append([]string{"-Xmx512m", "-XX:+UseSerialGC", "-cp", m.jars()}, args...)...)
}

// start runs a program until the test ends, and logs its output if the test failed.
func (m machine) start(name string, args ...string) *exec.Cmd {
	m.t.Helper()
	log, err := os.CreateTemp(m.dir, "log")
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if m.t.Failed() {
			output, _ := os.ReadFile(log.Name())
			m.t.Logf("%s %s:\n%s", filepath.Base(name), strings.Join(args, " "), output[max(0, len(output)-10_000):])
		}
	})
	return cmd
}

// request makes a request until it is answered with the status.
func (m machine) request(url string, status int) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://"+url, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	if !soon(m.t, func() bool {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		return response.StatusCode == status
	}) {
		m.t.Fatalf("%s was not answered with %d", url, status)
	}
}

// load loads the agent, by the helper, and returns the address of its endpoint.
func (m machine) load(jvm *exec.Cmd, configuration string) string {
	m.t.Helper()
	endpoint := address(m.t)
	_, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		m.t.Fatal(err)
	}
	var out []byte
	if !soon(m.t, func() bool { // a JVM that has just started is left to its start
		out, err = exec.CommandContext(m.t.Context(), filepath.Join(root, "bin/jmx-attach"), "load", "--pid", strconv.Itoa(jvm.Process.Pid), "--port", port, "--config", configuration).CombinedOutput()
		return err == nil
	}) {
		m.t.Fatalf("jmx-attach load: %v\n%s", err, out)
	}
	return endpoint
}

// address returns an unused address of this host.
func address(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// binaries returns the paths of tools.
func binaries(t *testing.T, names ...string) []string {
	t.Helper()
	return strings.Fields(command(t, filepath.Join(root, "hack/binaries"), names...))
}

// command runs a program to its end, and returns its standard output.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errors strings.Builder
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// soon waits until the condition is met, and reports whether it was.
func soon(t *testing.T, condition func() bool) bool {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 5*time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	}) == nil
}
