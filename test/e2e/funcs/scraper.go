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
	// silent is since when there was no answer, longest for how long there was
	// none, by pod.
	silent  map[string]time.Time
	longest map[string]time.Duration
	last    map[string]error
}

// scrapeInterval is a short one. Who asks more often sees a gap in which a
// scraper misses one scrape at most.
const scrapeInterval = 15 * time.Second

// ScraperOf asks the endpoints of a namespace.
func ScraperOf(namespace string) *Scraper { return &Scraper{namespace: namespace} }

// Begin asks from now on, once a second, to the end of the feature: it belongs
// into a Setup.
func (s *Scraper) Begin(port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := podsOf(s.namespace, label)(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		s.answers, s.silent, s.longest, s.last = map[string]int{}, map[string]time.Time{}, map[string]time.Duration{}, map[string]error{}
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
	} else {
		s.last[pod] = err
		if s.silent[pod].IsZero() {
			s.silent[pod] = time.Now()
		}
	}
	if since := s.silent[pod]; !since.IsZero() {
		s.longest[pod] = max(s.longest[pod], time.Since(since))
	}
	if err == nil {
		delete(s.silent, pod)
	}
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
		t.Logf("answers: %v, silent for: %v", s.answers, s.longest)
		for pod, silence := range s.longest {
			if silence > scrapeInterval {
				t.Errorf("%s did not answer for %s, the last time with: %v", pod, silence, s.last[pod])
			}
		}
	})
}
