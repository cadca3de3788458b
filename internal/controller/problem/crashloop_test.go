package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A crash loop is reported as one throughout, whatever the kubelet reports in between.
func TestFindCrashLoop(t *testing.T) {
	testFind(t, map[string]findCase{
		// Crash loops, and others.
		"a container crashes repeatedly": {pod: aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff), exits(1, "Error", ago(9)))), want: "app-0/app CrashLoopBackOff x4: " + exited1},
		"a container crashes repeatedly without a known exit": {
			pod:  aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff))),
			want: "app-0/app CrashLoopBackOff x4: The container restarts repeatedly",
		},
		"a container crashes repeatedly without the kubelet's reason": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)), exits(1, "Error", ago(10)))),
			before: entry("app", "Error", 0, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
		"a container exits again after more than ten minutes": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(ago(610), exits(1, "Error", ago(9))), exits(1, "Error", ago(611)))),
			want: "app-0/app Error x1: " + exited1,
		},
		"a container cannot be started again": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(metav1.Unix(0, 0), exits(128, "StartError", ago(9))))),
			want: "app-0/app CrashLoopBackOff x1: The container terminated with exit code 128 (StartError)",
		},
		"a container exited permanently beside a running one": {
			pod:  aPod(corev1.PodRunning, never, is("app", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app Error x1: " + exited1,
		},
		"a container crashes repeatedly because of its own rule": {
			pod:  aPod(corev1.PodRunning, restartsOn(42), is("app", 5, exits(42, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app CrashLoopBackOff x5: The container terminated with exit code 42 (Error)",
		},
		"a container exited permanently because of its own policy": {
			pod:  aPod(corev1.PodRunning, restartsOn(42), is("app", 5, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app Error x5: " + exited1,
		},
		"a sidecar crashes repeatedly in a pod that is never restarted": {
			pod:  aPod(corev1.PodRunning, never, sidecar, is("init", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/init CrashLoopBackOff x1: " + exited1,
		},

		// How a crash loop continues, and ends.
		"the crashing container runs again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(59)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1, again: 1,
		},
		"the crashing container exits again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(1, "Error", ago(1)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"the crashing container exits differently": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(137, "OOMKilled", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited2,
		},
		"the crashing container cannot be started": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(runContainerError, "no such file"), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"the crashing container has run for a minute": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(60)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
		},
		"a container exits without an error repeatedly": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(1)), exits(0, "Completed", ago(9)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0, again: 59,
		},
		"a container exits without an error once more": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(1)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0,
		},
		"a container exited without an error before it was seen": {
			pod:  aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(61)))),
			want: "app-0/app CrashLoopBackOff x5: " + exited0,
		},
		"the crashing container completes": {
			pod:    aPod(corev1.PodRunning, onFailure, is("app", 5, exits(0, "Completed", ago(1))), is("side", 0, fine)),
			before: entry("app", crashLoop, 5, exited1),
		},
		"the crashing init container completes": {
			pod:    aPod(corev1.PodRunning, is("init", 5, exits(0, "Completed", ago(1))), is("app", 0, fine)),
			before: entry("init", crashLoop, 5, exited1),
		},
		"the entry is of another pod with that name": {
			pod:    aPod(corev1.PodRunning, is("app", 0, exits(1, "Error", ago(1)))),
			before: &v1alpha1.ProblemPod{Pod: "app-0", UID: "another", Container: "app", Reason: crashLoop},
			want:   "app-0/app Error x0: " + exited1,
		},
		"the note about the missing right is dropped": {
			pod:    aPod(corev1.PodRunning, is("app", 4, exits(1, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1+needsRight),
			want:   "app-0/app CrashLoopBackOff x4: " + exited1,
		},
		"the crashing container has another exit code": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container terminated with exit code 3 (Error)",
		},
		"the crashing container has another exit code once more": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container terminated with exit code 3 (Error)",
		},
		"another container crashes repeatedly": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)))),
			before: entry("side", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
	})
}
