package integration

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// Logs that hang delay neither their exporter, which reports the pod without its log and
// attaches to others, nor logs in other namespaces, also if there are more of them than are
// read at once. What arrives late is added. The API server is real; the logs are scripted.
func TestHangingLogs(t *testing.T) {
	t.Parallel()
	slow, other := &story{cluster: newCluster(t)}, &story{cluster: newCluster(t)}
	both := fakenode.New(t)
	slow.containers, other.containers = both, both
	answer := make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	var hanging atomic.Int32
	logs := scriptedLogs(func(pod types.NamespacedName, _ bool) (string, error) {
		if pod.Namespace == slow.namespace {
			hanging.Add(1)
			<-answer
		}
		return "log of " + pod.Name, nil
	})
	slow.startManagerAs(asInCluster(), func(o *manager.Options) { o.Logs = logs }, slow.namespace, other.namespace)

	t.Cleanup(release) // before the operator stops

	const crashing = 20
	for i := range crashing {
		slow.crash(slow.run(aPod(fmt.Sprintf("broken-%d", i)).without("app")), 0)
	}
	slow.exporter = slow.alerts("exporter", 1)
	eventually(t, func() bool { return hanging.Load() > 0 })

	slow.pod = slow.run(aPod("app"))
	eventually(t, func() bool {
		get(t, slow.exporter)
		return strings.HasPrefix(slow.exporter.Status.Pods, "1/") // is Annotated
	})
	if got := slow.exporter.Status.ProblemPodCount; got != crashing {
		t.Errorf("problem pods while their logs hang: got %d, want %d", got, crashing)
	}

	other.crash(other.run(aPod("broken").without("app")), 0)
	other.exporter = other.alerts("exporter", 1)
	eventually(t, func() bool {
		return len(other.problems(other.exporter)) == 1 && other.exporter.Status.ProblemPods[0].Log != ""
	})

	release()
	eventually(t, func() bool {
		get(t, slow.exporter)
		for _, p := range slow.exporter.Status.ProblemPods {
			if p.Log != "log of "+p.Pod {
				return false
			}
		}
		return true
	})
}
