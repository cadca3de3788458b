package funcs

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Told waits for an Event that regards each pod of the application and says
// these words.
func Told(namespace, eventType, reason string, words ...string) features.Func {
	return podsOf(namespace, label).untilEach(func(ctx context.Context, c *cluster, pod *corev1.Pod) error {
		return c.hasEvent(ctx, namespace, pod.Name, eventType, reason, words...)
	})
}

// ExporterTold waits for an Event that regards the exporter.
func ExporterTold(namespace, exporter, eventType, reason string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		return c.hasEvent(ctx, namespace, exporter, eventType, reason)
	})
}

// hasEvent reports whether an Event of this type and reason regards the object, and
// says these words.
func (c *cluster) hasEvent(ctx context.Context, namespace, name, eventType, reason string, words ...string) error {
	var list eventsv1.EventList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.Regarding.Name == name && e.Type == eventType && e.Reason == reason {
			return says(name, e.Note, words)
		}
	}
	return fmt.Errorf("no %s Event %s regards %s", eventType, reason, name)
}

// says reports whether a message about something has all of these words in it.
func says(about, message string, words []string) error {
	for _, w := range words {
		if !strings.Contains(message, w) {
			return fmt.Errorf("%s: %q does not say %q", about, message, w)
		}
	}
	return nil
}
