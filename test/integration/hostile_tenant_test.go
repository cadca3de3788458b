package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

const (
	silentEndpoints, hangingShells = 64, 32
	// silentNetwork is the network of pods whose endpoints accept connections and never answer.
	silentNetwork = "192.0.2."
	// answerTimeout is how long the operator waits for an endpoint (pkg/steps).
	answerTimeout = 10 * time.Second
)

// silences is a prober for which some endpoints never answer.
type silences struct{ fakenode.Prober }

// Probe implements probe.Prober.
func (s silences) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	if !strings.HasPrefix(address, silentNetwork) {
		return s.Prober.Probe(ctx, address, process)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(answerTimeout):
		return fault(v1alpha1.ReasonEndpointNotServing)
	}
}

// A tenant with silent endpoints and hanging shells, all in new pods on the node of another
// tenant's pod, does not keep that pod from being attached to. One operator serves both
// tenants, and another operator serves a third tenant alone. With FULL=1, the delay is small,
// too: the medians of the last rounds are compared while no other test runs. Without it, see
// pkg/transport (TestProbePlaces, TestHangingContainersDelayNoOthers), where the clock is
// simulated.
func TestHostileTenant(t *testing.T) {
	const rounds, most, patience = 5, 1.2, 3 * time.Minute
	if !full() {
		t.Parallel()
	}
	alone, beside, hostile := newCluster(t), newCluster(t), newCluster(t)
	hostile.containers = beside.containers
	alone.startManagerIn(asInCluster(), silences{alone.containers.Prober(effects.Direct)}, alone.namespace)
	beside.startManagerIn(asInCluster(), silences{beside.containers.Prober(effects.Direct)}, beside.namespace, hostile.namespace)
	alone.configure(rules)
	beside.configure(rules)
	hostile.exportOpen()

	var without, with []time.Duration
	var pods []*corev1.Pod
	for deadline := time.Now().Add(patience); ; {
		pods = hostile.harass(pods)
		var both sync.WaitGroup
		var a, b time.Duration
		both.Go(func() { a = alone.attachOne(len(with)) })
		both.Go(func() { b = beside.attachOne(len(with)) })
		both.Wait()
		without, with = append(without, a), append(with, b)
		t.Logf("Annotated after %s alone, and after %s beside the hostile tenant", a, b)
		if !full() {
			return
		}
		last := max(len(with)-rounds, 0)
		ratio := median(with[last:]).Seconds() / median(without[last:]).Seconds()
		switch {
		case len(with) >= rounds && ratio <= most:
			t.Logf("the median is %.2f times as long", ratio)
			return
		case time.Now().After(deadline):
			t.Fatalf("an attach takes %.2f times as long beside a hostile tenant", ratio)
		}
	}
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }

// harass replaces the pods of a hostile tenant with new ones.
func (c *cluster) harass(old []*corev1.Pod) []*corev1.Pod {
	c.t.Helper()
	pods := make([]*corev1.Pod, silentEndpoints+hangingShells)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < len(pods); i += 8 {
				if old != nil {
					remove(c.t, old[i])
				}
				pod := aPod(fmt.Sprintf("app-%d-%d", i, restarts.Add(1)))
				if pod.hangs = i >= silentEndpoints; !pod.hangs {
					pod.at(fmt.Sprint(silentNetwork, 1+i))
				}
				pods[i] = c.run(pod)
			}
		})
	}
	all.Wait()
	return pods
}

// attachOne returns how long a new pod takes to become Annotated after its exporter was
// created, and deletes both.
func (c *cluster) attachOne(n int) time.Duration {
	c.t.Helper()
	pod := c.run(aPod(fmt.Sprintf("app-%d", n)))
	ctx, stop := context.WithTimeout(c.t.Context(), 5*time.Minute)
	defer stop()
	events, err := admin.Watch(ctx, &v1alpha1.JmxAttachmentList{}, client.InNamespace(c.namespace))
	if err != nil {
		c.t.Fatal(err)
	}
	defer events.Stop()
	begin, took := time.Now(), time.Duration(0)
	exporter := create(c.t, c.anExporter(pod.Name))
	for event := range events.ResultChan() {
		if a, ok := event.Object.(*v1alpha1.JmxAttachment); ok && a.Spec.Pod.Name == pod.Name && a.Status.Phase == v1alpha1.PhaseAnnotated {
			took = time.Since(begin)
			break
		}
	}
	if took == 0 {
		c.t.Fatalf("%s is not Annotated", pod.Name)
	}
	remove(c.t, exporter)
	remove(c.t, pod)
	return took
}

// A probe that waits for a slot is neither sent nor counted as an attempt.
func TestProbeQueued(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o, limits := s.operate(), transport.NewLimits(1, 1, 1)
	o.attachments.(*attachment.Reconciler).Limits = limits
	s.pod = s.run(aPod("app-0"))
	done, err := limits.Probe(transport.Container{Namespace: s.namespace, Pod: "silent", Node: s.pod.Spec.NodeName})
	if err != nil {
		t.Fatal(err)
	}
	s.exporter = s.export("exporter")
	if again := o.settle(); again != statemachine.QueuedFor {
		t.Errorf("next try: got %s, want statemachine.QueuedFor", again)
	}
	if a := s.attachment(s.pod); a.Status.Phase != v1alpha1.PhaseLoaded || a.Status.Processes[0].Attempt.Tries() != 0 || slices.Contains(o.did(), "http probe") {
		t.Errorf("without a slot for the probe: got phase %s, want Loaded without an attempt", phaseOf(a))
	}
	done()
	o.settle()
	s.isAnnotated("9400")
}
