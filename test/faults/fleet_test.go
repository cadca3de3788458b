package faults

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// fleet is an operator with many pods, beside the one of the scenario.
type fleet struct {
	*run
	members map[string]*member
}

// member is a pod of a fleet.
type member struct {
	name string
	pod  *corev1.Pod
	jvm  *fakenode.JVM
	// born is how many effects the operator had had when it was created.
	born int
	// ended is how many execs into the pod there were when its container ended; -1 if it runs.
	ended int
}

// newFleet starts an operator that attaches the exporter to all pods.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{run: newRun(t, plan{}, nil), members: map[string]*member{}}
	addresses := f.proxy.serves
	f.proxy.serves = func(address string, port int32) bool { return addresses(address, port) || f.serves(address, port) }
	f.start(operatorSpec{Host: f.proxy.server.URL, Namespace: f.namespace})
	f.export()
	return f
}

// full reports whether all is tested that takes long.
func full() bool { return os.Getenv("FULL") != "" }

// serves reports whether a member with this address serves a port.
func (f *fleet) serves(address string, port int32) bool {
	f.mu.Lock()
	var uid types.UID
	for _, m := range f.members {
		if m.pod.Status.PodIP == address && m.ended < 0 {
			uid = m.pod.UID
		}
	}
	f.mu.Unlock()
	return uid != "" && slices.Contains(f.containers.Listening(uid, containerName), port)
}

// launch runs a pod.
func (f *fleet) launch(name string, hangs bool) *member {
	f.t.Helper()
	pod := f.createPod(name)
	id, jvm := nextContainer()
	c := f.containers.Start(pod.UID, containerName, jvm)
	c.ID, c.Hangs = id, hangs
	m := &member{name: name, pod: pod, jvm: jvm, born: len(f.effects), ended: -1}
	f.runs(pod, nextAddress(), id)
	f.mu.Lock()
	f.members[name] = m
	f.mu.Unlock()
	return m
}

// complete ends a pod as a Job's: its container exits, and the pod is deleted.
func (f *fleet) complete(m *member) {
	f.t.Helper()
	f.containers.Remove(m.pod.UID, containerName)
	f.mu.Lock()
	m.ended = f.proxy.execsInto(m.name)
	f.mu.Unlock()
	before := m.pod.DeepCopy()
	m.pod.Status.Phase = corev1.PodSucceeded
	m.pod.Status.ContainerStatuses[0].Ready = false
	m.pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	f.must(admin.Status().Patch(f.t.Context(), m.pod, client.MergeFrom(before)))
	f.must(admin.Delete(f.t.Context(), m.pod))
}

// attached returns the names of the pods that are attached to.
func (f *fleet) attached() map[string]bool {
	f.t.Helper()
	var list v1alpha1.JmxAttachmentList
	f.must(admin.List(f.t.Context(), &list, client.InNamespace(f.namespace)))
	names := map[string]bool{}
	for _, a := range list.Items {
		names[a.Spec.Pod.Name] = a.Status.Phase == v1alpha1.PhaseAnnotated
	}
	return names
}

// await waits until something is the case, and hears the operator meanwhile.
func (f *fleet) await(what string, reached func() bool) {
	f.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(stepTimeout)
	for !reached() {
		select {
		case line := <-f.messages:
			f.handle(line)
		case <-ticker.C:
		case <-f.operator.ended:
			f.t.Fatalf("the operator ended by itself:\n%s", f.operator.log)
		case <-late:
			f.t.Fatalf("after %s, not yet: %s", stepTimeout, what)
		}
	}
}

// quietNow reports whether the operator has nothing to do.
func (f *fleet) quietNow() bool { return f.idle(time.Time{}) }

// TestJobStorm runs pods that come and go, such as those of Jobs, beside some that stay: 500
// pods, 160 at a time, or a tenth of them. A pod lives for a number of the operator's effects,
// not of seconds, so that the storm is the same on a slow machine.
func TestJobStorm(t *testing.T) {
	t.Parallel()
	jobs, atOnce, staying, life := 50, 16, 4, 200
	if full() {
		jobs, atOnce, staying, life = 500, 160, 20, 2000
	}
	f := newFleet(t)
	var alive []*member
	var stay []string
	calm := func() bool { // the pods that stay are attached to
		attached := f.attached()
		return !slices.ContainsFunc(stay, func(name string) bool { return !attached[name] })
	}
	attachedJobs := 0
	for i := 0; i < jobs || !calm(); i++ {
		if i > jobs*10 {
			t.Fatalf("after %d Jobs, not all of the pods that stay are attached to", i)
		}
		if i >= jobs/4 && len(stay) < staying {
			stay = append(stay, f.launch(fmt.Sprintf("service-%d", len(stay)), false).name)
		}
		alive = append(alive, f.launch(fmt.Sprintf("job-%04d", i), false))
		if len(alive) < atOnce {
			continue
		}
		oldest := alive[0]
		f.await("the operator has effects, or is idle", func() bool { return len(f.effects)-oldest.born >= life || f.quietNow() })
		f.containers.Locked(func() {
			if oldest.jvm.Loads > 0 {
				attachedJobs++
			}
		})
		f.complete(oldest)
		alive = alive[1:]
	}
	for _, m := range alive {
		f.complete(m)
	}
	f.await("the operator is idle, and has records of the pods that stay only", func() bool {
		return f.quietNow() && f.garbageCollect(t.Context()) == nil && len(f.attached()) == len(stay)+1
	})
	for name, m := range f.members {
		if m.jvm.Loads > 1 || m.jvm.Quits > 1 {
			t.Errorf("%s: %d loads, %d signals", name, m.jvm.Loads, m.jvm.Quits)
		}
		if execs := f.proxy.execsInto(name); m.ended >= 0 && execs > m.ended+attempt {
			t.Errorf("%s: %d requests for execs after its container had ended", name, execs-m.ended)
		}
	}
	f.stop(f.operator)
	for _, broken := range append(f.broken, f.checkJVMs()...) {
		t.Error(broken)
	}
	_, execs, _ := f.proxy.counts()
	t.Logf("%d pods came and went, into %d of which an agent was loaded; %d effects, %d execs", len(f.members)-len(stay), attachedJobs, len(f.effects), execs)
}

// TestTenthHangs attaches to the same pods twice: one in ten never answers an exec, and none
// does. All others are attached to, and it takes no more execs into them.
func TestTenthHangs(t *testing.T) {
	t.Parallel()
	n := 20
	if full() {
		n = 100
	}
	costs := map[bool]int{}
	for _, some := range []bool{false, true} {
		f := newFleet(t)
		var good, hanging []string
		for i := range n / 10 {
			hanging = append(hanging, f.launch(fmt.Sprintf("hanging-%03d", i), some).name)
		}
		f.await("it is tried with those that hang", func() bool {
			return !slices.ContainsFunc(hanging, func(name string) bool { return f.proxy.execsInto(name) == 0 })
		})
		for i := range n - n/10 {
			good = append(good, f.launch(fmt.Sprintf("good-%03d", i), false).name)
		}
		f.await("all pods that answer are attached to", func() bool {
			attached := f.attached()
			return !slices.ContainsFunc(good, func(name string) bool { return !attached[name] })
		})
		for _, name := range good {
			costs[some] += f.proxy.execsInto(name)
		}
		for _, name := range hanging {
			if some && f.members[name].jvm.Loads > 0 {
				t.Errorf("an agent is loaded in %s, which hangs", name)
			}
		}
		f.stop(f.operator)
		for _, broken := range append(f.broken, f.checkJVMs()...) {
			t.Error(broken)
		}
	}
	if costs[true] > costs[false]+n/10 {
		t.Errorf("with pods that hang, there are %d execs into the others, and %d without", costs[true], costs[false])
	}
	t.Logf("%d execs into pods that answer while one in ten hangs, %d without", costs[true], costs[false])
}
