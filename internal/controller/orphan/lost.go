package orphan

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// lost tracks the agents of deleted records by pod, until they are handled. A pod does
// not always show them: its annotations are removed before its agents, and there are
// none if others own them. What a record knew that was deleted while no operator ran is
// lost.
type lost struct {
	mu     sync.Mutex
	agents map[client.ObjectKey]agents
}

type agents struct {
	pod       types.UID
	processes []v1alpha1.JavaProcess
}

// note keeps what a deleted record says about agents. A record that was recreated and
// deleted before its pod was inspected says nothing: the one before it counts.
func (l *lost) note(pod client.ObjectKey, a *v1alpha1.JmxAttachment) {
	left := agents{pod: a.Spec.Pod.UID}
	for i := range a.Status.Processes {
		if p := &a.Status.Processes[i]; record.MayHaveAgent(p) {
			left.processes = append(left.processes, *p)
		}
	}
	if len(left.processes) == 0 {
		if knows(a) {
			l.forget(pod)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agents == nil {
		l.agents = map[client.ObjectKey]agents{}
	}
	l.agents[pod] = left
}

// knows reports whether a record knows which agents are in its pod: the pod was
// inspected, or its detach began, which looks for agents if it was not.
func knows(a *v1alpha1.JmxAttachment) bool {
	return a.Status.DetachStartTime != nil || record.EndpointsKnown(&a.Status) && len(record.UnseenPorts(&a.Status)) == 0
}

// in reports whether such an agent is in the pod, and its container still runs.
func (l *lost) in(pod *corev1.Pod) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.agents[client.ObjectKeyFromObject(pod)]
	return left.pod == pod.UID && slices.ContainsFunc(left.processes, func(p v1alpha1.JavaProcess) bool { return record.Runs(pod, &p) })
}

func (l *lost) forget(pod client.ObjectKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.agents, pod)
}
