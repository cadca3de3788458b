package funcs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// History is what the records of a namespace have been, one after the other.
// What was so for a moment only is seen in it all the same.
type History struct {
	namespace string

	mu      sync.Mutex
	first   records
	changes []v1alpha1.JmxAttachment
}

type records map[types.UID]v1alpha1.JmxAttachment

// HistoryOf is the history of a namespace's records.
func HistoryOf(namespace string) *History { return &History{namespace: namespace} }

// Begin follows the records from now on, to the end of the test of this step.
func (h *History) Begin() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.first, h.changes = records{}, nil
		var list v1alpha1.JmxAttachmentList
		c.follow(ctx, t, h.namespace, &list, func(object runtime.Object) {
			if r, ok := object.(*v1alpha1.JmxAttachment); ok {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.changes = append(h.changes, *r)
			}
		})
		for _, r := range list.Items {
			h.first[r.UID] = r
		}
	})
}

// follow lists what is in a namespace, and shows each change from then on, to the
// end of the test.
func (c *cluster) follow(ctx context.Context, t *testing.T, namespace string, list client.ObjectList, show func(runtime.Object)) {
	t.Helper()
	follower, err := client.NewWithWatch(c.config, client.Options{Scheme: c.Scheme(), Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	from := &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
	changes, err := follower.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: from})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(changes.Stop)
	go func() {
		for change := range changes.ResultChan() {
			show(change.Object)
		}
	}()
}

// replay waits until the history has come to what is there now, and shows what
// the records were after each change.
func (h *History) replay(ctx context.Context, t *testing.T, c *cluster, show func(now records, changed v1alpha1.JmxAttachment)) {
	t.Helper()
	var changes []v1alpha1.JmxAttachment
	now := records{}
	eventually(ctx, t, func(ctx context.Context) error {
		current, err := c.records(ctx, h.namespace)
		if err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		now, changes = maps.Clone(h.first), h.changes
		last := maps.Clone(h.first)
		for _, r := range changes {
			last[r.UID] = r
		}
		for _, r := range current {
			if last[r.UID].ResourceVersion != r.ResourceVersion {
				return fmt.Errorf("the history of %s has not come to resourceVersion %s", r.Name, r.ResourceVersion)
			}
		}
		return nil
	})
	for _, r := range changes {
		now[r.UID] = r
		show(now, r)
	}
}

func arrived(r v1alpha1.JmxAttachment, revision string) bool {
	return r.Spec.Revision == revision && r.Status.Revision == revision && r.Status.Phase == v1alpha1.PhaseAnnotated
}

// OneFirst asserts that what the exporter says now went to one pod first: until
// that one was Annotated with it, all others were Annotated as before.
func (h *History) OneFirst(exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		revision := c.revision(ctx, t, h.namespace, exporter)
		var canary types.UID
		proven := false
		h.replay(ctx, t, c, func(now records, changed v1alpha1.JmxAttachment) {
			if canary == "" && changed.Spec.Revision == revision {
				canary = changed.UID
				t.Logf("%s went first, of %d", changed.Spec.Pod.Name, len(now))
			}
			if canary == "" || proven {
				return
			}
			for _, r := range now {
				before := h.first[r.UID]
				if r.UID != canary && (r.Spec.Revision == revision || r.Status.Revision != before.Status.Revision ||
					r.Status.Phase != v1alpha1.PhaseAnnotated || r.Status.Processes[0].ConfigSHA256 != before.Status.Processes[0].ConfigSHA256) {
					t.Errorf("%s had its turn before %s was Annotated: %+v", r.Spec.Pod.Name, now[canary].Spec.Pod.Name, r.Status)
				}
			}
			proven = arrived(now[canary], revision)
		})
		if !proven {
			t.Fatalf("no pod was Annotated with revision %s", revision)
		}
	})
}

// AtMost asserts that never more pods than that were under way at once to what
// the exporter says now, never more than that on one node, and that so many have
// arrived.
func (h *History) AtMost(exporter string, limit, perNode, pods int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		revision := c.revision(ctx, t, h.namespace, exporter)
		nodes := map[string]string{}
		running, err := c.pods(ctx, h.namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range running {
			nodes[pod.Name] = pod.Spec.NodeName
		}
		there, most := map[types.UID]bool{}, 0
		h.replay(ctx, t, c, func(now records, _ v1alpha1.JmxAttachment) {
			var underWay []string
			on := map[string]int{}
			for _, r := range now {
				there[r.UID] = there[r.UID] || arrived(r, revision)
				if r.Spec.Revision == revision && !there[r.UID] {
					underWay = append(underWay, r.Spec.Pod.Name)
					on[nodes[r.Spec.Pod.Name]]++
				}
			}
			most = max(most, len(underWay))
			if len(underWay) > limit {
				t.Errorf("under way at once were %v, more than %d", underWay, limit)
			}
			for node, n := range on {
				if n > perNode {
					t.Errorf("under way at once were %d on node %s, more than %d", n, node, perNode)
				}
			}
		})
		t.Logf("at most %d were under way at once", most)
		arrivals := 0
		for _, is := range there {
			if is {
				arrivals++
			}
		}
		if arrivals != pods {
			t.Errorf("%d pods have arrived at revision %s, not %d", arrivals, revision, pods)
		}
	})
}

func (c *cluster) revision(ctx context.Context, t *testing.T, namespace, exporter string) string {
	t.Helper()
	var e v1alpha1.PrometheusJmxExporter
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
		t.Fatal(err)
	}
	return e.Status.Revision
}

// Patch merges a change into an exporter.
func Patch(namespace, exporter, change string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := c.patchExporter(ctx, namespace, exporter, change); err != nil {
			t.Fatal(err)
		}
	})
}

func (c *cluster) patchExporter(ctx context.Context, namespace, exporter, change string) error {
	e := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: exporter}}
	return c.Client.Patch(ctx, e, client.RawPatch(types.MergePatchType, []byte(change)), fieldManager)
}

// Halted waits until the exporter says that the rollout of its revision was
// stopped, in these words: in its status, as Stalled, and by a Warning Event.
func Halted(namespace, exporter, reason string, words ...string) features.Func {
	return All(
		verb(func(ctx context.Context, t *testing.T, c *cluster) {
			t.Helper()
			eventually(ctx, t, func(ctx context.Context) error {
				var e v1alpha1.PrometheusJmxExporter
				if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
					return err
				}
				halt := e.Status.Halt
				if halt == nil || halt.Reason != reason || halt.Revision != e.Status.Revision {
					return fmt.Errorf("exporter %s: status.halt is %+v, not %s for revision %s", exporter, halt, reason, e.Status.Revision)
				}
				for _, w := range words {
					if !strings.Contains(halt.Message, w) {
						return fmt.Errorf("exporter %s: %q does not say %q", exporter, halt.Message, w)
					}
				}
				return nil
			})
		}),
		ExporterCondition(namespace, exporter, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, words...),
		ExporterTold(namespace, exporter, corev1.EventTypeWarning, reason),
	)
}

// OneRefused waits until exactly one record says this, and asserts that the
// others are Annotated with what they had before: their revision is another one.
func OneRefused(namespace string, pods int, phase v1alpha1.Phase, reason string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			var one *v1alpha1.JmxAttachment
			var others []v1alpha1.JmxAttachment
			for i := range all {
				if all[i].Status.Reason == reason {
					one = &all[i]
				} else {
					others = append(others, all[i])
				}
			}
			if one == nil || len(others) != pods-1 {
				return fmt.Errorf("of %d records, %d do not say %s; %d pods are expected", len(all), len(others), reason, pods)
			}
			for _, r := range others {
				if r.Status.Phase != v1alpha1.PhaseAnnotated || r.Spec.Revision == one.Spec.Revision || r.Status.Revision != others[0].Status.Revision {
					return fmt.Errorf("%s is %s %s at revision %s, and that refused has %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason, r.Spec.Revision, one.Spec.Revision)
				}
			}
			condition := meta.FindStatusCondition(one.Status.Conditions, string(phase))
			if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason {
				return fmt.Errorf("%s: %s is %+v, not False %s", one.Spec.Pod.Name, phase, condition, reason)
			}
			for _, w := range words {
				if !strings.Contains(condition.Message, w) {
					return fmt.Errorf("%s: %q does not say %q", one.Spec.Pod.Name, condition.Message, w)
				}
			}
			return c.told(ctx, namespace, one.Name, corev1.EventTypeWarning, reason)
		})
	})
}

// Counts waits until a counter in the metrics of each endpoint has this value.
func Counts(namespace, counter string, want float64) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			counts, err := c.counts(ctx, namespace, counter)
			if err != nil {
				return err
			}
			for pod, n := range counts {
				if n != want {
					return fmt.Errorf("%s has %s %v, not %v", pod, counter, n, want)
				}
			}
			return nil
		})
	})
}

// CountsInOne waits until a counter has this value in one pod, and 0 in the others.
func CountsInOne(namespace, counter string, want float64) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			counts, err := c.counts(ctx, namespace, counter)
			if err != nil {
				return err
			}
			by := map[float64]int{}
			for _, n := range counts {
				by[n]++
			}
			if by[want] != 1 || by[0] != len(counts)-1 {
				return fmt.Errorf("%s is %v, not %v in one pod only", counter, counts, want)
			}
			return nil
		})
	})
}

func (c *cluster) counts(ctx context.Context, namespace, counter string) (map[string]float64, error) {
	all, err := c.records(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there are no attachments")
	}
	counts := map[string]float64{}
	for _, r := range all {
		for _, p := range r.Status.Processes {
			if p.Endpoint == nil {
				return nil, fmt.Errorf("%s has no endpoint", r.Spec.Pod.Name)
			}
			page, err := c.get(ctx, namespace, r.Spec.Pod.Name, p.Endpoint.Port, "/metrics")
			if err != nil {
				return nil, err
			}
			found := false
			for line := range strings.Lines(page) {
				if value, ok := strings.CutPrefix(line, counter+" "); ok {
					n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
					if err != nil {
						return nil, err
					}
					counts[r.Spec.Pod.Name], found = n, true
				}
			}
			if !found {
				return nil, fmt.Errorf("%s does not serve %s", r.Spec.Pod.Name, counter)
			}
		}
	}
	return counts, nil
}

// Waiting waits until of the records of so many pods all but one say this.
func Waiting(namespace string, pods int, reason string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			waiting := 0
			for _, r := range all {
				if r.Status.Reason == reason {
					waiting++
				}
			}
			if len(all) != pods || waiting != pods-1 {
				return fmt.Errorf("%d of %d records say %s, not all but one of %d", waiting, len(all), reason, pods)
			}
			return nil
		})
	})
}

// FirstEnds kills the JVM of the one pod that is Annotated, and waits until the
// exporter says so: the rollout stops, and names pod and exit code.
func FirstEnds(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var first corev1.Pod
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			var annotated []v1alpha1.JmxAttachment
			for _, r := range all {
				if r.Status.Phase == v1alpha1.PhaseAnnotated {
					annotated = append(annotated, r)
				}
			}
			if len(annotated) != 1 {
				return fmt.Errorf("%d pods are Annotated, not one", len(annotated))
			}
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: annotated[0].Spec.Pod.Name}, &first)
		})
		if err := c.kill(ctx, first, "java"); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var e v1alpha1.PrometheusJmxExporter
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
				return err
			}
			if e.Status.Halt == nil || !strings.Contains(e.Status.Halt.Message, first.Name) || !strings.Contains(e.Status.Halt.Message, "exit code 137") {
				return fmt.Errorf("status.halt is %+v, which does not name pod %s and exit code 137", e.Status.Halt, first.Name)
			}
			stalled := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionStalled)
			if stalled.Message != e.Status.Halt.Message {
				return fmt.Errorf("the condition Stalled says %q, not what status.halt says", stalled.Message)
			}
			t.Log(stalled.Message)
			return nil
		})
	})
}

// Restarted asserts how often the containers of the application were restarted,
// all of them together.
func Restarted(namespace string, times int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		var n int32
		for _, pod := range pods {
			n += restarts(pod)
		}
		if n != times {
			t.Fatalf("containers were restarted %d times, not %d", n, times)
		}
	})
}

// Observed waits until the exporter's status is about its spec.
func Observed(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			var e v1alpha1.PrometheusJmxExporter
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
				return err
			}
			if e.Status.ObservedGeneration != e.Generation {
				return fmt.Errorf("exporter %s: the status is about generation %d, not %d", exporter, e.Status.ObservedGeneration, e.Generation)
			}
			return nil
		})
	})
}

// Changes does something, and waits until the exporter has another revision.
func Changes(namespace, exporter string, do features.Func) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		t.Helper()
		c, err := clusterOf(cfg)
		if err != nil {
			t.Fatal(err)
		}
		before := c.revision(ctx, t, namespace, exporter)
		do(ctx, t, cfg)
		eventually(ctx, t, func(ctx context.Context) error {
			if c.revision(ctx, t, namespace, exporter) == before {
				return fmt.Errorf("exporter %s still has revision %s", exporter, before)
			}
			return nil
		})
		return ctx
	}
}

// ServesPods asserts that the pods with a label serve these words on a port.
func ServesPods(namespace, label string, port int32, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) == 0 {
			t.Fatalf("no pod has %s", label)
		}
		for _, pod := range pods {
			page, err := c.get(ctx, namespace, pod.Name, port, "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range words {
				if !strings.Contains(page, w) {
					t.Errorf("%s does not serve %s on port %d:\n%s", pod.Name, w, port, page)
				}
			}
		}
	})
}
