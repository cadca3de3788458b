package consumer_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A broker is a real one, standalone, as a process of this test.
type broker struct {
	t               *testing.T
	jars, java, dir string
	address, web    string
	producer        string // the program that sends messages
	process         *exec.Cmd
	ended           chan struct{} // closed once the process has ended
	output          *os.File
	user            *syscall.Credential
}

// theModules are those that Pulsar's own start script opens (bin/pulsar of 4.0.0).
var theModules = []string{"java.base/sun.net", "java.base/java.lang", "java.base/java.nio", "java.base/jdk.internal.misc", "java.base/java.util.zip", "java.management/sun.management"}

func startBroker(t *testing.T) *broker {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "../broker/fetch").Output()
	if err != nil {
		t.Fatalf("../broker/fetch: %v", err)
	}
	jars, java, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	// Not below t.TempDir, which only root may enter.
	dir, err := os.MkdirTemp("", "pulsar-") //nolint:usetesting // as said
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &broker{t: t, jars: filepath.Join(dir, "lib"), java: java, dir: dir, address: freeAddress(t), web: freeAddress(t)}
	b.link(jars)
	if os.Getuid() == 0 {
		b.user = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	b.start()
	t.Cleanup(b.stop)
	return b
}

// link links the jars to where another user may read them: the folder that they are in
// is below somebody's home.
func (b *broker) link(from string) {
	b.t.Helper()
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.Mkdir(b.jars, 0o755) //nolint:gosec // as said
	}
	if err != nil {
		b.t.Fatal(err)
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(b.jars, entry.Name())
		if os.Link(source, target) == nil {
			continue
		}
		content, err := os.ReadFile(source) // on another file system
		if err == nil {
			err = os.WriteFile(target, content, 0o644) //nolint:gosec // as said
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// start starts it, or starts it again with what it has stored.
func (b *broker) start() {
	b.t.Helper()
	config := filepath.Join(b.dir, "standalone.conf")
	_, port, _ := net.SplitHostPort(b.address)
	_, webPort, _ := net.SplitHostPort(b.web)
	content := fmt.Sprintf("clusterName=standalone\nbrokerServicePort=%s\nwebServicePort=%s\nbindAddress=127.0.0.1\nadvertisedAddress=127.0.0.1\n"+
		"managedLedgerDefaultEnsembleSize=1\nmanagedLedgerDefaultWriteQuorum=1\nmanagedLedgerDefaultAckQuorum=1\nallowAutoTopicCreation=false\nbrokerDeleteInactiveTopicsEnabled=false\n",
		port, webPort)
	if err := os.WriteFile(config, []byte(content), 0o644); err != nil { //nolint:gosec // another user reads it
		b.t.Fatal(err)
	}
	args := []string{"-Xmx384m", "-XX:MaxDirectMemorySize=256m", "-Dio.netty.tryReflectionSetAccessible=true"}
	for _, module := range theModules {
		args = append(args, "--add-opens", module+"=ALL-UNNAMED")
	}
	args = append(args, "-cp", b.jars+"/*", "org.apache.pulsar.PulsarStandaloneStarter", "--config", config, "--no-functions-worker", "--no-stream-storage",
		"--metadata-url", "rocksdb://"+filepath.Join(b.dir, "metadata"), "--bookkeeper-dir", filepath.Join(b.dir, "bookkeeper"))
	b.process = exec.Command(b.java, args...)
	b.process.Dir = b.dir
	b.process.SysProcAttr = &syscall.SysProcAttr{Credential: b.user}
	var err error
	if b.output, err = os.Create(filepath.Join(b.t.TempDir(), "broker.log")); err != nil {
		b.t.Fatal(err)
	}
	b.process.Stdout, b.process.Stderr = b.output, b.output
	if err := b.process.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.ended = make(chan struct{})
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait()
		close(ended)
	}(b.process, b.ended)
	eventually(b.t, "the broker is healthy", func(ctx context.Context) bool {
		select {
		case <-b.ended:
			log, _ := os.ReadFile(b.output.Name())
			b.t.Fatalf("the broker ended:\n%s", log)
		default:
		}
		// Healthy it is before it has made the namespace of topics without one.
		status, _ := get(ctx, "http://"+b.web+"/admin/v2/brokers/health")
		_, namespaces := get(ctx, "http://"+b.web+"/admin/v2/namespaces/public")
		return status == http.StatusOK && strings.Contains(namespaces, "public/default")
	})
}

// stop ends it, and shows its log if the test failed.
func (b *broker) stop() {
	_ = b.process.Process.Kill()
	<-b.ended
	if b.t.Failed() {
		log, _ := os.ReadFile(b.output.Name())
		b.t.Logf("the broker's log:\n%s", log[max(0, len(log)-8192):])
	}
	_ = b.output.Close()
}

func (b *broker) url() string { return "pulsar://" + b.address }

// create creates a topic, and returns its path in the broker's administration.
func (b *broker) create(t *testing.T, topic string) string {
	t.Helper()
	path := "/admin/v2/persistent/public/default/" + topic
	b.request(t, http.MethodPut, path)
	return path
}

// freeAddress is one of this host that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// request asks the broker's administration for something, which it must do.
func (b *broker) request(t *testing.T, method, path string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+b.web+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, _ := io.ReadAll(response.Body); response.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %s: %s", method, path, response.Status, text)
	}
}

func get(ctx context.Context, url string) (status int, body string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for !is(ctx) {
		select {
		case <-ctx.Done():
			t.Fatalf("it does not come about that %s", what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
