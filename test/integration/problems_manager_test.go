package integration

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// With its watches and its own recorder the operator reports the same problems, and the
// Event is stored by the API server.
func TestProblemPodsOfManager(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	mgr, err := manager.New(config, manager.Options{
		Namespaces: []string{c.namespace}, MetricsAddress: "0", HealthAddress: "0", Concurrent: 1, Seam: effects.Direct,
		Sessions: func() attachment.Session { return perCall{c.containers.Through(effects.Direct)} }, Limits: transport.NewLimits(4, 4, 4), Prober: c.containers.Prober(effects.Direct), Artifacts: artifacts,
		Logs: scriptedLogs(func(types.NamespacedName, bool) (string, error) { return "scripted", nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	e := c.alerts("exporter", 1)
	pod := c.run(aPod("app-0").without("app"))
	c.crash(pod, 1)
	eventually(t, func() bool { return len(c.problems(e)) == 1 && e.Status.ProblemPods[0].Log == "scripted" })

	eventually(t, func() bool {
		var list corev1.EventList
		c.list(&list)
		for _, event := range list.Items {
			if event.Reason == "CrashLoopBackOff" && event.Type == corev1.EventTypeWarning &&
				event.InvolvedObject.UID == e.UID && event.Related != nil && event.Related.UID == pod.UID {
				return true
			}
		}
		return false
	})
	c.runAgain(pod, 2)
	c.changeStatus(pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(time.Now().Add(-58 * time.Second))
	})
	eventually(t, func() bool { return len(c.problems(e)) == 0 }) // without an event
}
