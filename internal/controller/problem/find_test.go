package problem

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// findCase is a pod, and what Find says of it.
type findCase struct {
	pod    corev1.Pod
	before *v1alpha1.ProblemPod
	want   string
	again  int // seconds
}

func testFind(t *testing.T, cases map[string]findCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := exporter()
			if tc.before != nil {
				e.Status.ProblemPods = []v1alpha1.ProblemPod{*tc.before}
			}
			found := Find(e, []corev1.Pod{tc.pod}, now)
			var got []string
			for _, e := range found.Entries {
				got = append(got, line(e))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := time.Duration(tc.again) * time.Second; found.Again != again {
				t.Errorf("it is to be looked at again in %s, not %s", found.Again, again)
			}
		})
	}
}

// Sorted, bounded, of the pods with the labels only, and only where it is asked for.
func TestFindOfMany(t *testing.T) {
	var pods []corev1.Pod
	for i := range 60 {
		pod := aPod(corev1.PodFailed)
		pod.Name, pod.UID = fmt.Sprintf("app-%02d", 59-i), types.UID(fmt.Sprint(i))
		pods = append(pods, pod)
	}
	other := aPod(corev1.PodFailed)
	other.Labels, other.Name = nil, "app-00-other"
	pods = append(pods, other)

	found := Find(exporter(), pods, now)
	if len(found.Entries) != 50 || found.Omitted != 10 || found.Pods != 60 {
		t.Fatalf("%d of %d are listed, %d are not", len(found.Entries), found.Pods, found.Omitted)
	}
	for i, entry := range found.Entries {
		if want := fmt.Sprintf("app-%02d", i); entry.Pod != want {
			t.Errorf("number %d is %s, not %s", i, entry.Pod, want)
		}
	}
	off := exporter(found.Entries...)
	off.Spec.Alerts.CheckRunningPods = false
	if found := Find(off, pods, now); len(found.Entries) > 0 || found.Omitted > 0 {
		t.Errorf("nobody asked, and %d are listed", len(found.Entries))
	}
}

// Of several pods, the first that time changes decides when to look again.
func TestFindAgain(t *testing.T) {
	early, late := aPod(corev1.PodPending, created(ago(50))), aPod(corev1.PodPending, created(ago(5)))
	if found := Find(exporter(), []corev1.Pod{late, early, late}, now); found.Again != 10*time.Second {
		t.Errorf("again in %s", found.Again)
	}
}

// Messages and reasons fit into the schema, whatever they are.
func TestFindBounds(t *testing.T) {
	long := ""
	for range 1000 {
		long += "ä"
	}
	found := Find(exporter(), []corev1.Pod{aPod(corev1.PodFailed, says(long, long+"\n"+long))}, now)
	if e := found.Entries[0]; len(e.Reason) > 64 || len(e.Message+needsRight) > 512 {
		t.Errorf("%d bytes of reason, %d of message", len(e.Reason), len(e.Message+needsRight))
	}
}

// Each container that fails has an entry, with its own words, its own log and an Event of
// its own; the pod counts once.
func TestFindSeveralContainers(t *testing.T) {
	pod := aPod(corev1.PodRunning,
		is("app", 3, waits(crashLoop, ""), exits(1, "Error", ago(5))),
		is("side", 0, waits(errImagePull, notFound)))
	said := entry("side", imagePullBackOff, 0, notFound)
	found := Find(exporter(*said), []corev1.Pod{pod}, now)
	got := make([]string, 0, 2)
	for _, e := range found.Entries {
		got = append(got, line(e))
	}
	want := []string{"app-0/app CrashLoopBackOff x3: " + exited1, "app-0/side ImagePullBackOff x0: " + notFound}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found.Pods != 1 || found.Omitted != 0 {
		t.Errorf("%d pods do not run, %d of them are omitted", found.Pods, found.Omitted)
	}
	var events announced
	Announce(&events, exporter(), []v1alpha1.ProblemPod{*said}, found.Entries)
	if diff := cmp.Diff(announced{"Warning CrashLoopBackOff CheckPods app-0: Pod app-0, container app: CrashLoopBackOff: " + exited1}, events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}
