package attachment

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// agents are node agents that a test makes ready: there is one, on node n1.
type agents struct {
	one    steps.NodeAgent
	ready  func(node string)
	synced bool
}

// Agent implements NodeAgents.
func (a *agents) Agent(node string) steps.NodeAgent {
	if node != "n1" {
		return steps.NodeAgent{}
	}
	return a.one
}

// Watch implements NodeAgents.
func (a *agents) Watch(_ context.Context, ready func(node string)) { a.ready = ready }

// Synced implements NodeAgents.
func (a *agents) Synced(context.Context) { a.synced = true }

// recordsOf is a cache with records, which it has after a while.
type recordsOf struct {
	client.Reader
	records []v1alpha1.JmxAttachment
	from    *time.Time
	lists   *int
}

// List implements client.Reader.
func (r recordsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	*r.lists++
	if !time.Now().Before(*r.from) {
		list.(*v1alpha1.JmxAttachmentList).Items = r.records
	}
	time.Sleep(time.Second) // of the bubble: until all others wait
	return nil
}

// A node agent that becomes ready leads to a reconcile of the pods of its node that it may
// help, and of no other.
func TestNodeAgentReady(t *testing.T) {
	record := func(name, node, reason string, processes ...v1alpha1.JavaProcess) v1alpha1.JmxAttachment {
		a := v1alpha1.JmxAttachment{}
		a.Name, a.Status.NodeName, a.Status.Reason, a.Status.Processes = name, node, reason, processes
		return a
	}
	reasons := []string{
		v1alpha1.ReasonNodeAgentMissing, v1alpha1.ReasonNodeAgentPending, v1alpha1.ReasonNoShell, v1alpha1.ReasonHelperNotExecutable,
		v1alpha1.ReasonExecRefused, v1alpha1.ReasonExecForbidden, v1alpha1.ReasonDoorRefused, v1alpha1.ReasonDoorsExhausted,
	}
	var all []v1alpha1.JmxAttachment
	var want []string
	for i, reason := range reasons {
		name := fmt.Sprintf("waits-%d", i)
		all, want = append(all, record(name, "n1", reason), record("elsewhere-"+name, "n2", reason)), append(want, name)
	}
	want = append(want, "detaches")
	all = append(all, record("detaches", "n1", v1alpha1.ReasonDetaching, v1alpha1.JavaProcess{Reason: v1alpha1.ReasonNodeAgentMissing}),
		record("serves", "n1", ""), record("refused", "n1", v1alpha1.ReasonAttachDisabled), record("waits for its turn", "n1", v1alpha1.ReasonRolloutPending))
	for reason, helps := range map[string]bool{v1alpha1.ReasonNodeAgentMissing: true, v1alpha1.ReasonNodeAgentPending: true, v1alpha1.ReasonNodeAgentRefused: true, v1alpha1.ReasonNoShell: false} {
		skips := record("skips-"+reason, "n1", "")
		skips.Status.Containers = []v1alpha1.InspectedContainer{{Name: "app"}, {Name: "worker", Reason: reason}}
		if all = append(all, skips); helps {
			want = append(want, skips.Name)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		known, lists := &agents{}, 0
		from := time.Now().Add(enqueue.ConflictRetry / 2) // they were persisted just now
		r := &Reconciler{Reader: recordsOf{records: all, from: &from, lists: &lists}, NodeAgents: known}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		source := agentsReady{r, clock.RealClock{}}
		if err := source.Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if err := source.WaitForSync(t.Context()); err != nil || !known.synced {
			t.Errorf("WaitForSync: got %v, waited %t", err, known.synced)
		}
		known.ready("n1")
		time.Sleep(time.Minute)
		synctest.Wait()
		var got []string
		for q.Len() > 0 {
			request, _ := q.Get()
			got = append(got, request.Name)
			q.Done(request)
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		lists = 0
		for range 1000 { // as when a DaemonSet is installed
			known.ready("n3")
			time.Sleep(enqueue.ConflictRetry / 2000)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lists != 1 {
			t.Errorf("lists of all records for a thousand nodes: got %d, want 1", lists)
		}
	})
}

// Without node agents, nothing is known of them.
func TestNoNodeAgents(t *testing.T) {
	ready := steps.NodeAgent{Ready: true, UID: "agent"}
	for name, tc := range map[string]struct {
		agents NodeAgents
		node   string
		want   steps.NodeAgent
	}{
		"the operator uses none":      {nil, "n1", steps.NodeAgent{}},
		"the pod is not on a node":    {&agents{one: ready}, "", steps.NodeAgent{}},
		"the pod is on another node":  {&agents{one: ready}, "n2", steps.NodeAgent{}},
		"the pod's node has an agent": {&agents{one: ready}, "n1", ready},
	} {
		if got := (&Reconciler{NodeAgents: tc.agents}).nodeAgent(tc.node); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}

// A node agent that became ready while a pod was visited found no record that awaits it: the pod is
// visited again at once.
func TestNodeAgentReadyMeanwhile(t *testing.T) {
	none, awaited := steps.NodeAgent{}, steps.NodeAgent{Awaited: true}
	ready, next := steps.NodeAgent{Ready: true, UID: "agent"}, steps.NodeAgent{Ready: true, UID: "next"}
	const missing, pending, refused = v1alpha1.ReasonNodeAgentMissing, v1alpha1.ReasonNodeAgentPending, v1alpha1.ReasonNodeAgentRefused
	for name, tc := range map[string]struct {
		saw, now steps.NodeAgent
		says     string
		soon     bool
	}{
		"there was none, and is one":              {none, ready, missing, true},
		"it was awaited, and is ready":            {awaited, ready, pending, true},
		"there was one that refused, and another": {ready, next, refused, true},
		"there was none, and is none":             {none, none, missing, false},
		"there was none, and one is awaited":      {none, awaited, missing, false},
		"it is awaited still":                     {awaited, awaited, pending, false},
		"the same one refused":                    {ready, ready, refused, false},
		"it is gone":                              {ready, none, missing, false},
		"nothing waits for it":                    {none, ready, v1alpha1.ReasonTmpNotWritable, false},
	} {
		for _, detaches := range []bool{false, true} {
			b, s := aBench(), servingPod()
			b.NodeAgents = &agents{one: tc.now}
			s.NodeAgent, s.Pod.Spec.NodeName, s.Exporter.Spec.Transport = tc.saw, "n1", v1alpha1.TransportNode
			b.helper.answers["app inspect"], b.helper.answers["app unload"] = says(tc.says), says(tc.says)
			v := b.of(s)
			if detaches {
				s.Exporter, s.Published, s.Status().DetachTimeout = nil, nil, metav1.Duration{Duration: time.Hour}
				result, err := v.detach(t.Context())
				if got := result.RequeueAfter == enqueue.ConflictRetry; err != nil || got != tc.soon {
					t.Errorf("%s: detached again after %s, %v; want soon: %t", name, result.RequeueAfter, err, tc.soon)
				}
				continue
			}
			s.Status().Containers, s.Status().Processes = nil, nil
			result, err := v.attach(t.Context())
			if got := result.RequeueAfter == enqueue.ConflictRetry; err != nil || got != tc.soon {
				t.Errorf("%s: attached again after %s, %v; want soon: %t", name, result.RequeueAfter, err, tc.soon)
			}
		}
	}
}
