package integration

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// recorder records Events.
type recorder struct {
	mu     sync.Mutex
	events []event
}

type event struct{ Type, Reason, Note, Regarding string }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event{eventType, reason, fmt.Sprintf(note, args...), fmt.Sprintf("%T", regarding)})
}

// with returns the Events of a reason since the previous call.
func (r *recorder) with(reason string) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found, others []event
	for _, e := range r.events {
		if e.Reason == reason {
			found = append(found, e)
		} else {
			others = append(others, e)
		}
	}
	r.events = others
	return found
}
