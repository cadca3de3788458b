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
func consume(t *testing.T, server, topic string) (c *consumer.Consumer, messages *output, stop func() error) {
	t.Helper()
	messages = &output{}
	c = consumer.New(consumer.Options{
		Server: server, Topic: topic, Subscription: "logger",
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
func send(t *testing.T, producer, server, topic, message string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), producer)
	command.Env = append(os.Environ(), "PULSAR_SERVER="+server, "PULSAR_TOPIC="+topic, "PULSAR_MESSAGE="+message)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Each message that is sent is logged once, by a consumer that is ready only while it is
// subscribed: also over a restart of the broker, and of the consumer.
func TestConsume(t *testing.T) {
	producer := filepath.Join(t.TempDir(), "pulsar-producer")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", producer, "../cmd/pulsar-producer").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b := startBroker(t, true)
	c, messages, stop := consume(t, b.url(), "orders")
	eventually(t, "it is subscribed", func(context.Context) bool { return isReady(c) })
	send(t, producer, b.url(), "orders", "first")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=first") == 1 })

	b.stop()
	eventually(t, "it is not ready without a broker", func(context.Context) bool { return !isReady(c) })
	b.start()
	eventually(t, "it is subscribed again", func(context.Context) bool { return isReady(c) })
	send(t, producer, b.url(), "orders", "second")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=second") == 1 })
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}

	// What was acknowledged does not come again, and what was sent meanwhile does.
	send(t, producer, b.url(), "orders", "third")
	_, messages, stop = consume(t, b.url(), "orders")
	eventually(t, "the message is logged", func(context.Context) bool { return messages.count("payload=third") == 1 })
	if n := messages.count("payload=first"); n != 0 {
		t.Errorf("a message that was acknowledged came %d times again", n)
	}
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A consumer whose topic was deleted is not ready, though the broker answers, and ends at last:
// the client does not subscribe again.
func TestTopicDeleted(t *testing.T) {
	b := startBroker(t, false)
	const topic = "/admin/v2/persistent/public/default/orders"
	b.request(t, http.MethodPut, topic)
	c := consumer.New(consumer.Options{
		Server: b.url(), Topic: "orders", Subscription: "logger",
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
func TestReasons(t *testing.T) {
	b := startBroker(t, false)
	for reason, at := range map[string]struct{ server, topic string }{
		consumer.TopicNotFound:     {b.url(), "orders"},
		consumer.BrokerUnreachable: {"pulsar://" + freeAddress(t), "orders"},
	} {
		t.Run(reason, func(t *testing.T) {
			c := consumer.New(consumer.Options{
				Server: at.server, Topic: at.topic, Subscription: "logger",
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
