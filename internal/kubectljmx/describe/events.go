package describe

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// Event is an Event of the pod or of its record.
type Event struct {
	Time    metav1.Time `json:"time"`
	Type    string      `json:"type"`
	On      string      `json:"on"`
	Reason  string      `json:"reason"`
	Message string      `json:"message,omitempty"`
	Count   int32       `json:"count,omitempty"`
}

// events returns the Events of objects, by their UIDs, the oldest first.
func events(ctx context.Context, c *cluster.Cluster, uids []string) ([]Event, error) {
	all := []Event{}
	for _, uid := range uids {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingFields{"involvedObject.uid": uid}); err != nil {
			return all, err
		}
		for i := range list.Items {
			all = append(all, eventOf(&list.Items[i]))
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time.Time) })
	return all, nil
}

func eventOf(e *corev1.Event) Event {
	event := Event{Type: e.Type, On: e.InvolvedObject.Kind, Reason: e.Reason, Message: e.Message, Count: e.Count}
	if e.Series != nil {
		event.Count = e.Series.Count
	}
	last := latest(e.LastTimestamp.Time, e.FirstTimestamp.Time, e.EventTime.Time)
	if e.Series != nil {
		last = latest(last, e.Series.LastObservedTime.Time)
	}
	event.Time = metav1.NewTime(last)
	return event
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
