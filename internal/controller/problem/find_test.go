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

// findCase is a pod, and the expected result of Find.
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
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if again := time.Duration(tc.again) * time.Second; found.Again != again {
				t.Errorf("next look: got %s, want %s", found.Again, again)
			}
		})
	}
}

// Problems are sorted and limited, of selected pods only, and only if requested.
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
		t.Fatalf("got %d entries of %d pods and %d omitted, want 50 of 60 and 10", len(found.Entries), found.Pods, found.Omitted)
	}
	for i, entry := range found.Entries {
		if want := fmt.Sprintf("app-%02d", i); entry.Pod != want {
			t.Errorf("entry %d: got %s, want %s", i, entry.Pod, want)
		}
	}
	off := exporter(found.Entries...)
	off.Spec.Alerts.CheckRunningPods = false
	if found := Find(off, pods, now); len(found.Entries) > 0 || found.Omitted > 0 {
		t.Errorf("problem reports are turned off: got %d entries, want none", len(found.Entries))
	}
}

// Of several pods, the one that changes first with time determines the next look.
func TestFindAgain(t *testing.T) {
	early, late := aPod(corev1.PodPending, created(ago(50))), aPod(corev1.PodPending, created(ago(5)))
	if found := Find(exporter(), []corev1.Pod{late, early, late}, now); found.Again != 10*time.Second {
		t.Errorf("next look: got %s, want 10s", found.Again)
	}
}

// Messages and reasons always fit into the schema.
func TestFindBounds(t *testing.T) {
	long := ""
	for range 1000 {
		long += "ä"
	}
	found := Find(exporter(), []corev1.Pod{aPod(corev1.PodFailed, says(long, long+"\n"+long))}, now)
	if e := found.Entries[0]; len(e.Reason) > 64 || len(e.Message+needsRight) > 512 {
		t.Errorf("got %d bytes of reason and %d of message", len(e.Reason), len(e.Message+needsRight))
	}
}

// Each failing container has its own entry, message, log and Event; the pod counts
// once.
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
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if found.Pods != 1 || found.Omitted != 0 {
		t.Errorf("got %d pods and %d omitted, want 1 and none", found.Pods, found.Omitted)
	}
	var events announced
	Announce(&events, exporter(), []v1alpha1.ProblemPod{*said}, found.Entries)
	if diff := cmp.Diff(announced{"Warning CrashLoopBackOff CheckPods app-0: Pod app-0, container app: CrashLoopBackOff: " + exited1}, events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}
