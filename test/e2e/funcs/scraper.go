package funcs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Scraper asks every endpoint of a namespace again and again.
type Scraper struct {
	namespace string

	mu      sync.Mutex
	answers map[string]int
	// misses are those in a row, most is the most that there were, by pod.
	misses, most map[string]int
	last         map[string]error
}

// mostMisses is how often in a row who asks once a second may get no answer: far
// from the interval of any scraper, which misses one scrape at most.
const mostMisses = 4

// ScraperOf asks the endpoints of a namespace.
func ScraperOf(namespace string) *Scraper { return &Scraper{namespace: namespace} }

// Begin asks from now on, once a second, to the end of the feature: it belongs
// into a Setup.
func (s *Scraper) Begin(port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods := podsOf(s.namespace, label).all(ctx, t, c)
		s.answers, s.misses, s.most, s.last = map[string]int{}, map[string]int{}, map[string]int{}, map[string]error{}
		feature, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var all sync.WaitGroup
		for _, pod := range pods {
			all.Go(func() {
				for feature.Err() == nil {
					page, err := c.get(feature, s.namespace, pod.Name, port, "/metrics")
					if err == nil && !strings.Contains(page, "jvm_memory_used_bytes") {
						err = errors.New("it serves something else")
					}
					if feature.Err() == nil && !errors.Is(err, errNoWay) {
						s.note(pod.Name, err)
					}
					select {
					case <-feature.Done():
					case <-time.After(time.Second):
					}
				}
			})
		}
		t.Cleanup(func() { cancel(); all.Wait() })
		eventually(ctx, t, func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.answers) < len(pods) {
				return fmt.Errorf("%d of %d endpoints have answered: %v", len(s.answers), len(pods), s.last)
			}
			return nil
		})
	})
}

func (s *Scraper) note(pod string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.answers[pod]++
		s.misses[pod] = 0
		return
	}
	s.misses[pod]++
	s.most[pod] = max(s.most[pod], s.misses[pod])
	s.last[pod] = err
}

// Answered asserts that each endpoint answered since, so that a scraper has missed
// one scrape at most, and goes on answering.
func (s *Scraper) Answered() features.Func {
	return verb(func(ctx context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		s.mu.Lock()
		before := maps.Clone(s.answers)
		s.mu.Unlock()
		eventually(ctx, t, func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for pod, n := range before {
				if s.answers[pod] == n {
					return fmt.Errorf("%s answers no more: %w", pod, s.last[pod])
				}
			}
			return nil
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Logf("answers: %v, misses in a row: %v", s.answers, s.most)
		for pod, n := range s.most {
			if n > mostMisses {
				t.Errorf("%s did not answer %d times in a row, the last time with: %v", pod, n, s.last[pod])
			}
		}
	})
}
