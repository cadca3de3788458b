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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// RecordsRebuilt deletes the records of a namespace by hand, and waits until the
// operator has made others in their place.
func RecordsRebuilt(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if len(before) == 0 {
			t.Fatal("there are no attachments")
		}
		gone := map[types.UID]bool{}
		for i := range before {
			gone[before[i].UID] = true
			if err := c.Delete(ctx, &before[i]); err != nil {
				t.Fatal(err)
			}
		}
		eventually(ctx, t, func(ctx context.Context) error {
			now, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			for _, r := range now {
				if gone[r.UID] {
					return fmt.Errorf("%s is still there", r.Name)
				}
			}
			if len(now) != len(before) {
				return fmt.Errorf("%d records are there, not %d", len(now), len(before))
			}
			return nil
		})
	})
}

// Implementations remembers which implementation of the agent runs in the
// processes of a namespace.
type Implementations struct {
	namespace, before, after string
}

// ImplementationsIn are the implementations in a namespace.
func ImplementationsIn(namespace string) *Implementations {
	return &Implementations{namespace: namespace}
}

// Remember remembers the one that runs now.
func (i *Implementations) Remember() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var err error
		if i.before, err = c.implementation(ctx, i.namespace); err != nil {
			t.Fatal(err)
		}
	})
}

// Changed waits until another one runs in all processes, as the agents themselves say.
func (i *Implementations) Changed() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) (err error) {
			if i.after, err = c.implementation(ctx, i.namespace); err == nil && i.after == i.before {
				err = fmt.Errorf("implementation %s still runs", i.before)
			}
			return err
		})
	})
}

// Back waits until the one that was remembered runs again.
func (i *Implementations) Back() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			now, err := c.implementation(ctx, i.namespace)
			if err == nil && now != i.before {
				err = fmt.Errorf("implementation %s runs, not %s", now, i.before)
			}
			return err
		})
	})
}

// implementation is the one that runs in all processes of a namespace, by the
// records and by the agents' marks.
func (c *cluster) implementation(ctx context.Context, namespace string) (string, error) {
	all, err := c.records(ctx, namespace)
	if err != nil {
		return "", err
	}
	one := ""
	for _, r := range all {
		for _, p := range r.Status.Processes {
			mark, err := c.mark(ctx, &r, &p)
			if err != nil {
				return "", err
			}
			if p.ImplementationSHA256 != mark.ImplementationSHA256 {
				return "", fmt.Errorf("%s: the record says implementation %q, the agent %q", r.Spec.Pod.Name, p.ImplementationSHA256, mark.ImplementationSHA256)
			}
			if one != "" && one != mark.ImplementationSHA256 {
				return "", fmt.Errorf("both %s and %s run", one, mark.ImplementationSHA256)
			}
			one = mark.ImplementationSHA256
		}
	}
	if one == "" {
		return "", errors.New("no agent runs")
	}
	return one, nil
}

// Runs has the operator of config/default run another image, and waits for it.
func (s *Suite) Runs(image string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var d appsv1.Deployment
		if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorName}, &d); err != nil {
			t.Fatal(err)
		}
		base := d.DeepCopy()
		d.Spec.Template.Spec.Containers[0].Image = image
		if err := c.Client.Patch(ctx, &d, client.MergeFrom(base), kubectl); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.operatorReady(ctx, OperatorNamespace), s.acquainted(ctx, c)); err != nil {
			t.Fatal(err)
		}
	})
}

// PutBack puts the operator back as config/default has it when the feature ends.
// It belongs into a Setup.
func (s *Suite) PutBack() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Cleanup(func() {
			if err := s.install(context.WithoutCancel(ctx), c); err != nil {
				t.Error(err)
			}
		})
	})
}

// Installed installs the operator again, and waits for it.
func (s *Suite) Installed() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := s.install(ctx, c); err != nil {
			t.Fatal(err)
		}
	})
}

func (s *Suite) install(ctx context.Context, c *cluster) error {
	if err := s.applyOperator(ctx, c, "config/default", OperatorNamespace); err != nil {
		return err
	}
	if err := s.useImage(ctx, c); err != nil {
		return err
	}
	if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
		return err
	}
	return s.acquainted(ctx, c)
}

// acquainted makes the operator that runs now the one that must not restart.
func (s *Suite) acquainted(ctx context.Context, c *cluster) error {
	pod, err := c.operator(ctx)
	if err != nil {
		return err
	}
	s.operatorUID, s.restartsBefore, s.kills = string(pod.UID), restarts(*pod), 0
	return nil
}

// Uninstalled deletes the operator's Deployment, and nothing else, and waits
// until no operator runs.
func (s *Suite) Uninstalled() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: operatorName}}
		if err := c.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var pods corev1.PodList
			if err := c.List(ctx, &pods, client.InNamespace(OperatorNamespace), client.MatchingLabels{operatorKey: operatorName}); err != nil {
				return err
			}
			if len(pods.Items) > 0 {
				return fmt.Errorf("%d operators still run", len(pods.Items))
			}
			return client.IgnoreNotFound(notGone(c.Get(ctx, client.ObjectKeyFromObject(d), d), "the Deployment"))
		})
	})
}

func notGone(err error, what string) error {
	if err == nil {
		return fmt.Errorf("%s is still there", what)
	}
	return err
}

// NamespaceGone deletes a namespace, and waits until it is gone with all that was in it.
func NamespaceGone(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := c.Delete(ctx, object); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("namespace %s is still there: %+v", namespace, object.Status.Conditions)
			}
			return client.IgnoreNotFound(err)
		})
	})
}

// Undeployed runs hack/undeploy, and asserts that nothing of the operator is left.
func (s *Suite) Undeployed() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.build(ctx, "config/default")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.undeploy(ctx); err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if err := await(ctx, patience, func(ctx context.Context) error {
				err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
				if err != nil && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err)) {
					return nil
				}
				return notGone(err, object.GetKind()+" "+object.GetName())
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Scraper asks every endpoint of a namespace again and again.
type Scraper struct {
	namespace string

	mu      sync.Mutex
	answers map[string]int
	// misses are those in a row, most is the most that there were, by pod.
	misses, most map[string]int
	last         map[string]error
}

// ScraperOf asks the endpoints of a namespace.
func ScraperOf(namespace string) *Scraper { return &Scraper{namespace: namespace} }

// Begin asks from now on, once a second, to the end of the feature: it belongs
// into a Setup.
func (s *Scraper) Begin(port int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, s.namespace, label)
		if err != nil {
			t.Fatal(err)
		}
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
					if feature.Err() == nil {
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
			if len(pods) == 0 || len(s.answers) < len(pods) {
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

// Answered asserts that each endpoint answered since, but for single misses, and
// goes on answering.
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
			if n > 1 {
				t.Errorf("%s missed %d scrapes in a row, the last with: %v", pod, n, s.last[pod])
			}
		}
	})
}
