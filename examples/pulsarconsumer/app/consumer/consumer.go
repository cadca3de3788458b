// Package consumer subscribes to a Pulsar topic, and logs and acknowledges each message.
package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
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
	// CheckInterval is the time between two checks of the subscription.
	CheckInterval time.Duration
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

// CheckInterval is that of the program, and maxLost is how many checks fail in a row before the
// subscription counts as lost for good, which takes a minute or two.
const (
	CheckInterval = 5 * time.Second
	maxLost       = 12
)

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
	watched, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(watched, consumer, cancel) })
	defer func() {
		cancel(nil)
		watching.Wait()
		c.ready.Store(false)
	}()
	for {
		message, err := consumer.Receive(watched)
		if ctx.Err() != nil {
			return nil
		}
		if watched.Err() != nil {
			return context.Cause(watched)
		}
		if err != nil {
			return &Error{SubscribeFailed, err}
		}
		c.options.Messages.Info("message", "topic", message.Topic(), "id", message.ID().String(), "key", message.Key(),
			"payload", string(message.Payload()), "published", message.PublishTime())
		if err := consumer.Ack(message); err != nil {
			c.options.Log.Warn("cannot acknowledge the message; it will be redelivered", "id", message.ID().String(), "error", err)
		}
	}
}

// watch asks at intervals for what only the broker at the other end of the consumer's own
// connection knows, and cancels with an *Error once the subscription has been lost for long. The
// client subscribes again by itself and reports nothing; where the topic is gone, it gives up
// (pulsar-client-go v0.19.0, pulsar/consumer_partition.go).
func (c *Consumer) watch(ctx context.Context, consumer pulsar.Consumer, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(c.options.CheckInterval) //nolint:forbidigo // its tests have a real broker, and wait
	defer ticker.Stop()
	answers, asked, lost := make(chan error, 1), false, 0
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case err = <-answers:
			asked = false
		case <-ticker.C:
			if !asked {
				asked = true
				go func() {
					_, err := consumer.GetLastMessageIDs()
					answers <- err
				}()
				continue
			}
			err = errors.New("no answer from the broker")
		}
		if was := c.ready.Swap(err == nil); was != (err == nil) {
			c.options.Log.Info("checked the subscription", "subscribed", err == nil, "error", err)
		}
		if lost++; err == nil {
			lost = 0
		}
		if lost == maxLost {
			cancel(&Error{SubscribeFailed, fmt.Errorf("the subscription was lost: %w", err)})
			return
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
