package record

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// No time of a record stays ahead of the clock, but for a retry within the longest backoff.
func TestNotAhead(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	status := func(of time.Time) *v1alpha1.JmxAttachmentStatus {
		at := metav1.NewTime(of)
		attempt := func() *v1alpha1.Attempt { return &v1alpha1.Attempt{NextTime: at.DeepCopy()} }
		return &v1alpha1.JmxAttachmentStatus{
			Conditions: []metav1.Condition{{LastTransitionTime: at}},
			Containers: []v1alpha1.InspectedContainer{{Time: at.DeepCopy(), Attempt: attempt()}},
			Processes: []v1alpha1.JavaProcess{{
				Attempt: attempt(), Intent: &v1alpha1.LoadIntent{Time: at}, Losses: &v1alpha1.Losses{LastTime: at},
			}},
			Restores:        &v1alpha1.Restores{LastTime: at},
			DetachStartTime: at.DeepCopy(),
			Attempt:         attempt(),
		}
	}
	const times, retries = 9, 3
	for ahead, want := range map[time.Duration]int{-time.Hour: times, 10 * time.Minute: retries, 11 * time.Minute: 0, 24 * time.Hour: 0} {
		s := status(now.Add(ahead))
		NotAhead(s, now)
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		count := func(at time.Time) int { return strings.Count(string(encoded), at.Format(time.RFC3339)) }
		if kept, replaced := count(now.Add(ahead)), count(now); kept != want || replaced != times-want {
			t.Errorf("of the times that are %s ahead, %d are kept and %d are now; want %d and %d: %s", ahead, kept, replaced, want, times-want, encoded)
		}
	}
}
