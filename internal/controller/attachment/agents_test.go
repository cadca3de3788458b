package attachment

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// agents are node agents that a test makes ready.
type agents struct {
	ready  func(node string)
	synced bool
}

// Agent implements NodeAgents.
func (*agents) Agent(node string) steps.NodeAgent { return steps.NodeAgent{Ready: node == "n1"} }

// Watch implements NodeAgents.
func (a *agents) Watch(_ context.Context, ready func(node string)) { a.ready = ready }

// Synced implements NodeAgents.
func (a *agents) Synced(context.Context) { a.synced = true }

// recordsOf is a cache with records.
type recordsOf struct {
	client.Reader
	records []v1alpha1.JmxAttachment
	lists   *int
}

// List implements client.Reader.
func (r recordsOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	*r.lists++
	time.Sleep(time.Second) // of the bubble: until all others wait
	list.(*v1alpha1.JmxAttachmentList).Items = r.records
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
	synctest.Test(t, func(t *testing.T) {
		known, lists := &agents{}, 0
		r := &Reconciler{Reader: recordsOf{records: all, lists: &lists}, NodeAgents: known}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer q.ShutDown()
		source := agentsReady{r}
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
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lists > 2 {
			t.Errorf("lists of all records for a thousand nodes: got %d, want 2 at most", lists)
		}
	})
}

// Without node agents, nothing is known of them.
func TestNoNodeAgents(t *testing.T) {
	for name, tc := range map[string]struct {
		agents NodeAgents
		node   string
		want   steps.NodeAgent
	}{
		"the operator uses none":      {nil, "n1", steps.NodeAgent{}},
		"the pod is not on a node":    {&agents{}, "", steps.NodeAgent{}},
		"the pod is on another node":  {&agents{}, "n2", steps.NodeAgent{}},
		"the pod's node has an agent": {&agents{}, "n1", steps.NodeAgent{Ready: true}},
	} {
		if got := (&Reconciler{NodeAgents: tc.agents}).nodeAgent(tc.node); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}
