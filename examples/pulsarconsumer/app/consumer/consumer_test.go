package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/app/consumer"
)

// output is what a consumer logs. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) count(words string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(o.text.String(), words)
}

// consume runs a consumer until it is stopped.
func consume(t *testing.T, server, topic string, checkInterval time.Duration) (c *consumer.Consumer, messages *output, stop func() error) {
	t.Helper()
	messages = &output{}
	c = consumer.New(consumer.Options{
		Server: server, Topic: topic, Subscription: "logger", CheckInterval: checkInterval,
		Messages: slog.New(slog.NewTextHandler(messages, nil)), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := c.Run(ctx)
		if err != nil && ctx.Err() == nil {
			t.Errorf("it ended with %v", err)
		}
		ended <- err
	}()
	t.Cleanup(cancel)
	return c, messages, func() error {
		cancel()
		return <-ended
	}
}

func isReady(c *consumer.Consumer) bool {
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/ready", nil))
	return answer.Code == http.StatusOK
}

// send sends a message by the producer, as a person would.
func (b *broker) send(t *testing.T, topic, message string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), b.producer)
	command.Env = append(os.Environ(), "PULSAR_SERVER="+b.url(), "PULSAR_TOPIC="+topic, "PULSAR_MESSAGE="+message)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// The tests of one broker, of which each has topics of its own.
func TestConsumer(t *testing.T) {
	b := startBroker(t)
	b.producer = filepath.Join(t.TempDir(), "pulsar-producer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", b.producer, "../cmd/pulsar-producer").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if os.Getenv("FULL") != "" { // the broker takes as long again to start
		t.Run("broker restarts", func(t *testing.T) { testBrokerRestarts(t, b) })
	}
	for name, test := range map[string]func(*testing.T, *broker){
		"each message is logged once": testConsume,
		"topic is deleted":            testTopicDeleted,
		"reasons":                     testReasons,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// Each message that is sent is logged once, also over a restart of the consumer.
func testConsume(t *testing.T, b *broker) {
	const topic = "orders"
	b.create(t, topic)
	c, messages, stop := consume(t, b.url(), topic, consumer.CheckInterval)
	eventually(t, "it is subscribed", func(context.Context) bool { return isReady(c) })
	b.send(t, topic, "first")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=first") == 1 })
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	// What was acknowledged does not come again, and what was sent meanwhile does.
	b.send(t, topic, "second")
	_, messages, stop = consume(t, b.url(), topic, consumer.CheckInterval)
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=second") == 1 })
	if n := messages.count("payload=first"); n != 0 {
		t.Errorf("a message that was acknowledged came %d times again", n)
	}
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A consumer is ready only while it is subscribed, and subscribes again when the broker restarts. A
// message may come again: a broker that is killed has not stored each acknowledgment.
func testBrokerRestarts(t *testing.T, b *broker) {
	const topic = "restarts"
	b.create(t, topic)
	// On a busy machine, the broker takes longer to start than the program would wait.
	c, messages, stop := consume(t, b.url(), topic, 6*consumer.CheckInterval)
	eventually(t, "it is subscribed", func(context.Context) bool { return isReady(c) })
	b.send(t, topic, "first")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=first") == 1 })

	b.stop()
	eventually(t, "it is not ready without a broker", func(context.Context) bool { return !isReady(c) })
	b.start()
	eventually(t, "it is subscribed again", func(context.Context) bool { return isReady(c) })
	b.send(t, topic, "second")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=second") == 1 })
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A consumer whose topic was deleted is not ready, though the broker answers, and ends at last:
// the client does not subscribe again.
func testTopicDeleted(t *testing.T, b *broker) {
	topic := b.create(t, "deleted")
	c := consumer.New(consumer.Options{
		Server: b.url(), Topic: "deleted", Subscription: "logger", CheckInterval: consumer.CheckInterval / 10,
		Messages: slog.New(slog.DiscardHandler), Log: slog.New(slog.DiscardHandler),
	})
	ended := make(chan error, 1)
	go func() { ended <- c.Run(t.Context()) }()
	eventually(t, "it is subscribed", func(context.Context) bool { return isReady(c) })
	b.request(t, http.MethodDelete, topic+"?force=true")
	eventually(t, "it is not ready without a topic", func(context.Context) bool { return !isReady(c) })
	eventually(t, "it ends", func(context.Context) bool { return len(ended) == 1 })
	var failed *consumer.Error
	if err := <-ended; !errors.As(err, &failed) || failed.Reason != consumer.SubscribeFailed {
		t.Errorf("it ended with %v", err)
	}
}

// Why there is no subscription is one line that begins with a reason of the operator's.
func testReasons(t *testing.T, b *broker) {
	for reason, at := range map[string]struct{ server, topic string }{
		consumer.TopicNotFound:     {b.url(), "none"},
		consumer.BrokerUnreachable: {"pulsar://" + freeAddress(t), "none"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := consumer.New(consumer.Options{
				Server: at.server, Topic: at.topic, Subscription: "logger", CheckInterval: consumer.CheckInterval,
				Messages: slog.New(slog.DiscardHandler), Log: slog.New(slog.DiscardHandler),
			})
			err := c.Run(t.Context())
			var failed *consumer.Error
			if !errors.As(err, &failed) || failed.Reason != reason || !strings.HasPrefix(err.Error(), reason+": ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("it ended with %v", err)
			}
			if isReady(c) {
				t.Error("it is ready")
			}
		})
	}
}
