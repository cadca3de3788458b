package funcs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Told waits for an Event that regards each pod of the application and says
// these words.
func Told(namespace, eventType, reason string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			for _, pod := range pods {
				if err := c.told(ctx, namespace, pod.Name, eventType, reason, words...); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// ExporterTold waits for an Event that regards the exporter.
func ExporterTold(namespace, exporter, eventType, reason string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error { return c.told(ctx, namespace, exporter, eventType, reason) })
	})
}

// told tells whether an Event of this type and reason regards the object, and
// says these words.
func (c *cluster) told(ctx context.Context, namespace, name, eventType, reason string, words ...string) error {
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

// says tells whether a message about something has all of these words in it.
func says(about, message string, words []string) error {
	for _, w := range words {
		if !strings.Contains(message, w) {
			return fmt.Errorf("%s: %q does not say %q", about, message, w)
		}
	}
	return nil
}
