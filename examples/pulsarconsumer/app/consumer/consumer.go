// Package consumer subscribes to a Pulsar topic, and logs and acknowledges each message.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	pulsarlog "github.com/apache/pulsar-client-go/pulsar/log"
)

// The reasons why there is no subscription: what an Error begins with, and so a
// termination message, which the operator reads.
const (
	BrokerUnreachable = "BrokerUnreachable"
	TopicNotFound     = "TopicNotFound"
	SubscribeFailed   = "SubscribeFailed"
)

// Error is why there is no subscription.
type Error struct {
	Reason string
	Err    error
}

// Error is the reason and the cause, in one line.
func (e *Error) Error() string {
	return e.Reason + ": " + strings.Join(strings.Fields(e.Err.Error()), " ")
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Options are where to subscribe. All are required.
type Options struct {
	// Server is the broker's address, such as pulsar://broker:6650.
	Server string
	Topic  string
	// Subscription is shared: each message goes to one of its consumers.
	Subscription string
	// Messages receives a record for each message, Log what the client says.
	Messages, Log *slog.Logger
}

// Consumer is one consumer of a subscription. Its methods are safe for concurrent use.
type Consumer struct {
	options Options
	ready   atomic.Bool
}

// New returns a Consumer, which does nothing before Run.
func New(o Options) *Consumer { return &Consumer{options: o} }

// subscribeTimeout limits each operation on the broker.
const subscribeTimeout = 20 * time.Second

// checkInterval is the time between two checks of the broker.
const checkInterval = 5 * time.Second

// Run subscribes, and consumes until ctx ends, when it returns nil. Any error is an *Error:
// the subscription failed or was lost.
func (c *Consumer) Run(ctx context.Context) error {
	client, err := pulsar.NewClient(pulsar.ClientOptions{
		URL: c.options.Server, ConnectionTimeout: subscribeTimeout / 2, OperationTimeout: subscribeTimeout,
		Logger: pulsarlog.NewLoggerWithSlog(c.options.Log),
	})
	if err != nil {
		return &Error{BrokerUnreachable, err}
	}
	defer client.Close()
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{
		Topic: c.options.Topic, SubscriptionName: c.options.Subscription, Type: pulsar.Shared,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	})
	if err != nil {
		return &Error{reasonOf(err), err}
	}
	defer consumer.Close()
	c.ready.Store(true)
	checked, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		c.ready.Store(false)
	}()
	go c.checkBroker(checked, client)
	for {
		message, err := consumer.Receive(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return &Error{SubscribeFailed, err}
		}
		c.options.Messages.Info("message", "topic", message.Topic(), "id", message.ID().String(), "key", message.Key(),
			"payload", string(message.Payload()), "published", message.PublishTime())
		if err := consumer.Ack(message); err != nil {
			c.options.Log.Warn("cannot acknowledge: it comes again", "id", message.ID().String(), "error", err)
		}
	}
}

// checkBroker requests the topic at intervals: the client resubscribes by itself when the
// broker returns, and does not report that it is gone.
func (c *Consumer) checkBroker(ctx context.Context, client pulsar.Client) {
	for ticker := time.NewTicker(checkInterval); ; { //nolint:forbidigo // its tests have a real broker, and wait
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
			_, err := client.TopicPartitions(c.options.Topic)
			if ctx.Err() != nil {
				return
			}
			if was := c.ready.Swap(err == nil); was != (err == nil) {
				c.options.Log.Info("checked the broker", "answers", err == nil, "error", err)
			}
		}
	}
}

// ServeHTTP answers 200 while the Consumer is subscribed, and 503 while it is not.
func (c *Consumer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !c.ready.Load() {
		http.Error(w, "not subscribed", http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "subscribed")
}

// reasonOf classifies an error of the client, which keeps the broker's as text
// (pulsar-client-go v0.19.0, pulsar/error.go).
func reasonOf(err error) string {
	text := err.Error()
	for _, of := range []struct {
		reason string
		words  []string
	}{
		{TopicNotFound, []string{"TopicNotFound", "not found", "does not exist"}},
		{BrokerUnreachable, []string{"dial tcp", "no such host", "connection refused", "connection error", "ConnectError", "TimeoutError", "timed out", "timeout", "i/o timeout"}},
	} {
		for _, words := range of.words {
			if strings.Contains(text, words) {
				return of.reason
			}
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return BrokerUnreachable
	}
	return SubscribeFailed
}
