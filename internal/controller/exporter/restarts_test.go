package exporter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// limits returns a rollout's limits with a restartWindow and a haltThreshold.
func limits(window, threshold string) v1alpha1.Rollout {
	d, err := time.ParseDuration(window)
	if err != nil {
		panic(err)
	}
	return v1alpha1.Rollout{RestartWindow: &metav1.Duration{Duration: d}, HaltThreshold: new(intstr.Parse(threshold))}
}

// exits is a fleet whose containers exit at times of the test.
type exits struct {
	*rollout
	records []*v1alpha1.JmxAttachment
	pods    []corev1.Pod
	status  v1alpha1.PrometheusJmxExporter
}

// anUpdatedFleet returns a fleet of pods p0, p1 … that all have the revision.
func anUpdatedFleet(n int, threshold string) *exits {
	f := &exits{rollout: &rollout{revision: revision, now: now, limits: limits("1m", threshold)}}
	for i := range n {
		m := memberOf(fmt.Sprintf("p%d n1 1h", i))
		m.attachment.Spec.Pod.UID = types.UID(m.pod.Name)
		m.pod.UID, m.pod.Status.Phase = types.UID(m.pod.Name), corev1.PodRunning
		f.records, f.pods = append(f.records, m.attachment), append(f.pods, *m.pod)
	}
	return f
}

// exit records that a container of a pod exited soon after an attach, for the first time or
// again.
func (f *exits) exit(i int) *exits {
	exit := &v1alpha1.Restart{Revision: revision, Container: "app", Message: "It exited.", Process: f.now.String(), Time: new(f.seconds()), Count: 1}
	if before := f.records[i].Status.Restart; before != nil {
		exit.Count = before.Count + 1
	}
	f.records[i].Status.Restart = exit
	return f.observe()
}

// evicts shows a pod as evicted by the kubelet.
func (f *exits) evicts(i int, message string) *exits {
	f.pods[i].Status.Phase, f.pods[i].Status.Reason, f.pods[i].Status.Message = corev1.PodFailed, "Evicted", message
	return f
}

// terminates shows a container of a pod as terminated, as the kubelet does before it
// restarts it, or before it reports what ends the pod.
func (f *exits) terminates(i int) *exits {
	f.pods[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	return f
}

func (f *exits) later(d time.Duration) *exits {
	f.now = f.now.Add(d)
	return f.observe()
}

// observe is a reconcile of an operator that has just been started.
func (f *exits) observe() *exits {
	f.rollout = &rollout{revision: f.revision, resume: f.resume, now: f.now, limits: f.limits}
	f.stopAt(&f.status, f.records, f.pods)
	f.status.Status.Restarts, f.status.Status.Halt = f.restarts.DeepCopy(), f.halt
	return f
}

// is returns halted, paused or goes, and the pods that count.
func (f *exits) is() string {
	is, names := "goes", []string{}
	if f.restarts != nil {
		for _, p := range f.restarts.Pods {
			names = append(names, p.Name)
		}
		if f.restarts.Paused {
			is = fmt.Sprintf("paused for %s", f.pauseLeft())
		}
	}
	if f.halt != nil {
		is = "halted"
	}
	return strings.TrimSpace(is + " " + strings.Join(names, ","))
}

// One exit pauses for a window; two within one, or a share of the pods, halt.
func TestPauseAndHalt(t *testing.T) {
	const fleetSize = 500
	// job makes a pod one of a Job that was created at a time of the test.
	job := func(i int, created time.Duration) func(f *exits) {
		return func(f *exits) {
			f.pods[i].CreationTimestamp = metav1.NewTime(now.Add(created))
			f.pods[i].OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}}
		}
	}
	ends := func(i int, phase corev1.PodPhase, reason string) func(f *exits) {
		return func(f *exits) { f.pods[i].Status.Phase, f.pods[i].Status.Reason = phase, reason }
	}
	podGone := func(f *exits) { f.pods = f.pods[1:] }
	gone := func(f *exits) { f.pods, f.records = f.pods[1:], f.records[1:] }
	exit := func(i int) func(f *exits) { return func(f *exits) { f.exit(i) } }
	// recovers clears the exit, as the attachment controller does ten minutes later.
	recovers := func(f *exits) { f.records[0].Status.Restart = nil; f.later(10 * time.Minute) }
	proven := func(i int) func(f *exits) {
		return func(f *exits) {
			f.records[i].Status.Containers = []v1alpha1.InspectedContainer{{Name: "app", ProvenRevision: revision}}
		}
	}
	evicts := func(i int, message string) func(f *exits) {
		return func(f *exits) { f.evicts(i, message).later(time.Second) }
	}
	completed := func(i int) func(f *exits) {
		return func(f *exits) {
			f.pods[i].Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
		}
	}
	terminates := func(i int) func(f *exits) { return func(f *exits) { f.terminates(i) } }
	runs := func(f *exits) { f.pods[0].Status.ContainerStatuses = nil }
	later := func(d time.Duration) func(f *exits) { return func(f *exits) { f.later(d) } }
	for name, tc := range map[string]struct {
		pods      int
		threshold string
		what      []func(*exits)
		want      string
	}{
		"nothing exits":                                  {want: "goes"},
		"a container exits":                              {what: []func(*exits){exit(0)}, want: "paused for 1m0s p0"},
		"a container exited a moment ago":                {what: []func(*exits){exit(0), later(59 * time.Second)}, want: "paused for 1s p0"},
		"the pause is over":                              {what: []func(*exits){exit(0), later(time.Minute)}, want: "goes p0"},
		"a second exits during the pause":                {what: []func(*exits){exit(0), later(59 * time.Second), exit(1)}, want: "halted p0,p1"},
		"a second exits after the pause":                 {what: []func(*exits){exit(0), later(time.Minute), exit(1)}, want: "paused for 1m0s p0,p1"},
		"as many exit as the share, one after another":   {what: []func(*exits){exit(0), later(time.Hour), exit(1), later(time.Hour), exit(2), later(time.Hour), exit(3), later(time.Hour), exit(4)}, want: "halted p0,p1,p2,p3,p4"},
		"one fewer":                                      {what: []func(*exits){exit(0), later(time.Hour), exit(1), later(time.Hour), exit(2), later(time.Hour), exit(3)}, want: "paused for 1m0s p0,p1,p2,p3"},
		"the share of a small fleet is two":              {pods: 5, what: []func(*exits){exit(0), later(time.Hour), exit(1)}, want: "halted p0,p1"},
		"the fleet has one pod":                          {pods: 1, what: []func(*exits){exit(0)}, want: "paused for 1m0s p0"},
		"the threshold is 1":                             {threshold: "1", what: []func(*exits){exit(0)}, want: "halted p0"},
		"the threshold is 3":                             {threshold: "3", what: []func(*exits){exit(0), later(time.Hour), exit(1)}, want: "paused for 1m0s p0,p1"},
		"the threshold is 3, and three exit":             {threshold: "3", what: []func(*exits){exit(0), later(time.Hour), exit(1), later(time.Hour), exit(2)}, want: "halted p0,p1,p2"},
		"the threshold is 3, and two exit in one window": {threshold: "3", what: []func(*exits){exit(0), exit(1)}, want: "halted p0,p1"},
		"the threshold is 3, as a text":                  {what: []func(*exits){func(f *exits) { f.limits.HaltThreshold = new(intstr.FromString("3")) }, exit(0)}, want: "paused for 1m0s p0"},
		"the threshold is 100%":                          {pods: 3, threshold: "100%", what: []func(*exits){exit(0), later(time.Hour), exit(1)}, want: "paused for 1m0s p0,p1"},
		"the same pod exits again":                       {pods: 5, what: []func(*exits){exit(0), later(time.Hour), exit(0)}, want: "paused for 1m0s p0"},
		"the same pod exits again after it recovered":    {pods: 5, what: []func(*exits){exit(0), recovers, exit(0)}, want: "paused for 1m0s p0"},
		"one of 90 days ago has recovered":               {pods: 100, what: []func(*exits){exit(0), recovers, later(90 * 24 * time.Hour), exit(1)}, want: "paused for 1m0s p1"},
		"a pod of a Job fails, and its retry":            {what: []func(*exits){job(0, -time.Hour), exit(0), later(20 * time.Second), job(1, 10*time.Second), exit(1)}, want: "paused for 1m0s p0,p1"},
		"the pause after the retry of a Job is over":     {what: []func(*exits){job(0, -time.Hour), exit(0), later(20 * time.Second), job(1, 10*time.Second), exit(1), later(time.Minute)}, want: "goes p0"},
		"three pods of a Job that run at the same time":  {what: []func(*exits){job(0, -time.Hour), job(1, -time.Hour), exit(0), later(20 * time.Second), exit(1)}, want: "halted p0,p1"},
		"a retry of a Job, and another pod":              {what: []func(*exits){job(0, -time.Hour), exit(0), later(20 * time.Second), job(1, 10*time.Second), exit(1), exit(2)}, want: "halted p0,p1,p2"},
		"a pod exceeds its own limit of storage":         {what: []func(*exits){terminates(0), exit(0), evicts(0, `Usage of EmptyDir volume "tmp" exceeds the limit "10Mi". `)}, want: "paused for 59s p0"},
		"two pods exceed their own limit of storage":     {what: []func(*exits){terminates(0), exit(0), evicts(0, `Usage of EmptyDir volume "tmp" exceeds the limit "10Mi". `), exit(1)}, want: "halted p0,p1"},
		"two pods of a node that lacks memory":           {threshold: "1", what: []func(*exits){terminates(0), terminates(1), exit(0), exit(1), evicts(0, "The node was low on resource: memory. "), evicts(1, "The node was low on resource: memory. ")}, want: "paused for 58s p0,p1"},
		"two containers that had proven the revision":    {threshold: "1", what: []func(*exits){proven(0), proven(1), exit(0), exit(1)}, want: "paused for 1m0s p0,p1"},
		"a container that had proven it, exits again":    {what: []func(*exits){proven(0), exit(0), later(10 * time.Minute), exit(0), exit(1)}, want: "halted p0,p1"},
		"that pause is over":                             {what: []func(*exits){proven(0), exit(0), later(time.Minute)}, want: "goes"},
		"the exit of a day ago":                          {what: []func(*exits){exit(0), gone, later(24 * time.Hour)}, want: "goes"},
		"the exit of almost a day ago":                   {what: []func(*exits){exit(0), gone, later(24*time.Hour - time.Second)}, want: "goes p0"},
		"the exit of a day ago, and the pod waits":       {what: []func(*exits){exit(0), later(25 * time.Hour)}, want: "goes"},
		"an exit of which an earlier release did not say when": {what: []func(*exits){func(f *exits) {
			f.records[0].Status.Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Message: "It exited."}
			f.observe()
		}}, want: "goes"},
		"the node shuts down":                                                         {what: []func(*exits){ends(0, corev1.PodFailed, "Terminated"), exit(0)}, want: "goes"},
		"the pod fails by itself":                                                     {what: []func(*exits){ends(0, corev1.PodFailed, ""), exit(0)}, want: "paused for 1m0s p0"},
		"two pods of a node that may be shutting down":                                {what: []func(*exits){terminates(0), terminates(1), exit(0), exit(1)}, want: "paused for 1m0s p0,p1"},
		"two pods of a node that was shut down":                                       {what: []func(*exits){terminates(0), terminates(1), exit(0), exit(1), ends(0, corev1.PodFailed, "Terminated"), ends(1, corev1.PodFailed, "Terminated"), later(time.Second)}, want: "goes"},
		"two containers that terminated, and run again":                               {what: []func(*exits){terminates(0), exit(0), exit(1), runs, later(time.Second)}, want: "halted p0,p1"},
		"a container that terminated, and stays so":                                   {threshold: "1", what: []func(*exits){terminates(0), exit(0), later(time.Minute)}, want: "halted p0"},
		"a pod that may be ending is gone before its record":                          {what: []func(*exits){terminates(0), exit(0), podGone, later(time.Second)}, want: "goes"},
		"two pods of a node end, and are gone before their records":                   {what: []func(*exits){terminates(0), terminates(1), exit(0), exit(1), podGone, podGone, later(time.Second)}, want: "goes"},
		"a pod that may be ending is gone":                                            {what: []func(*exits){terminates(0), exit(0), gone, later(time.Second)}, want: "goes"},
		"a pod that counts ends":                                                      {what: []func(*exits){exit(0), ends(0, corev1.PodFailed, "Terminated"), later(time.Second)}, want: "paused for 59s p0"},
		"the rollout is resumed":                                                      {what: []func(*exits){exit(0), func(f *exits) { f.resume = "1"; f.observe() }}, want: "goes"},
		"another revision":                                                            {what: []func(*exits){exit(0), func(f *exits) { f.revision = "next"; f.observe() }}, want: "goes"},
		"an init container has completed, and the container runs again":               {threshold: "1", what: []func(*exits){completed(0), terminates(0), exit(0), runs, later(time.Second)}, want: "halted p0"},
		"the clock of an earlier operator was ahead, and two exits are an hour apart": {what: []func(*exits){exit(0), later(time.Hour), exit(1), later(-24 * time.Hour)}, want: "paused for 1m0s p0,p1"},
		"the clock of an earlier operator was a day ahead":                            {what: []func(*exits){exit(0), later(-24 * time.Hour)}, want: "paused for 1m0s p0"},
		"the window is 0":                                                             {pods: 5, what: []func(*exits){func(f *exits) { f.limits = limits("0s", "1%") }, exit(0), exit(1)}, want: "goes"},
		"the CustomResourceDefinition is older":                                       {what: []func(*exits){func(f *exits) { f.limits.HaltThreshold = nil }, exit(0)}, want: "halted"},
	} {
		if tc.pods == 0 {
			tc.pods = fleetSize
		}
		if tc.threshold == "" {
			tc.threshold = "1%"
		}
		f := anUpdatedFleet(tc.pods, tc.threshold).observe()
		for _, what := range tc.what {
			what(f)
		}
		if got := f.is(); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Nothing is granted during a pause, and the exporter is reconciled at its end.
func TestPauseGrantsNothing(t *testing.T) {
	f := anUpdatedFleet(2, "1%").exit(0)
	e := &v1alpha1.PrometheusJmxExporter{}
	e.Name = "shop"
	members := those([]string{"a n1 1h", "b n1 waits"})
	if granted, _ := f.grants(members, false); len(granted) > 0 {
		t.Errorf("grants during the pause: got %v, want none", granted)
	}
	p := (&fleet{exporter: e, rollout: *f.rollout}).decide()
	if p.again != time.Minute {
		t.Errorf("next reconcile: got %s, want %s", p.again, time.Minute)
	}
	f.later(time.Minute)
	f.limits.MaxConcurrent, f.limits.MaxConcurrentPerNode = 1, 1
	if granted, _ := f.grants(members, false); len(granted) != 1 {
		t.Errorf("grants after the pause: got %v, want one", granted)
	}
}

// What was decided is in the status: an operator that is started anew decides the same.
func TestPauseIsPersisted(t *testing.T) {
	f := anUpdatedFleet(3, "1%").exit(0)
	before := f.restarts.DeepCopy()
	if diff := gocmp.Diff(before, f.observe().restarts); diff != "" {
		t.Errorf("restarts (-before +after):\n%s", diff)
	}
	f.records = f.records[1:]
	if got := f.observe().is(); got != "paused for 1m0s p0" {
		t.Errorf("without the record: got %q", got)
	}
}

// The message is about the last pod that is listed.
func TestMessageOfRestarts(t *testing.T) {
	f := anUpdatedFleet(500, "1%").exit(0).later(30 * time.Second)
	f.records[1].Status.Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Message: "It was shut down.", Process: "other", Time: new(f.seconds()), Count: 1}
	f.terminates(1).observe()
	if want := "Pod p1: It was shut down."; f.restarts.Message != want {
		t.Errorf("two exits: got %q, want %q", f.restarts.Message, want)
	}
	f.pods[1].Status.Phase, f.pods[1].Status.Reason = corev1.PodFailed, "Terminated"
	f.later(time.Second)
	if want := "Pod p0: It exited."; f.restarts.Message != want {
		t.Errorf("one is explained: got %q, want %q", f.restarts.Message, want)
	}
	f.records = f.records[1:]
	if f.observe(); f.restarts.Message != "Pod p0: It exited." {
		t.Errorf("the record is gone: got %q", f.restarts.Message)
	}
}

// A list that is full takes an exit that counts instead of one that does not.
func TestFullRestarts(t *testing.T) {
	f := anUpdatedFleet(500, "100%")
	for i := range steps.MaxRestarts + 1 {
		f.records[i].Status.Containers = []v1alpha1.InspectedContainer{{Name: "app", ProvenRevision: revision}}
		f.records[i].Status.Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Message: "It exited.", Process: "first", Time: new(f.seconds()), Count: 1}
	}
	f.observe().exit(499)
	if n := len(f.restarts.Pods); n != steps.MaxRestarts || f.restarts.Pods[n-1].Name != "p499" || len(counted(f.restarts.Pods)) != 1 {
		t.Errorf("got %d pods, of which %d count", n, len(counted(f.restarts.Pods)))
	}
}

// The exporter is reconciled when a pod is dropped.
func TestRestartsAreDropped(t *testing.T) {
	f := anUpdatedFleet(500, "1%").exit(0).later(time.Minute)
	if got, want := f.restartsChangeAfter(), countedFor-time.Minute; got != want {
		t.Errorf("next reconcile: got %s, want %s", got, want)
	}
	if got := f.later(countedFor - time.Minute).restartsChangeAfter(); got != 0 || f.restarts != nil {
		t.Errorf("a day later: got %+v, next reconcile after %s", f.restarts, got)
	}
}
