package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A crash loop is one all the way, whatever the kubelet calls it in between.
func TestFindCrashLoop(t *testing.T) {
	testFind(t, map[string]findCase{
		// What is one.
		"crash loop": {pod: aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff), exits(1, "Error", ago(9)))), want: "app-0/app CrashLoopBackOff x4: " + exited1},
		"crash loop, of what nothing is known": {
			pod:  aPod(corev1.PodRunning, is("app", 4, waits(crashLoop, backOff))),
			want: "app-0/app CrashLoopBackOff x4: The container restarts repeatedly",
		},
		"crash loop that the kubelet does not call so": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)), exits(1, "Error", ago(10)))),
			before: entry("app", "Error", 0, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
		"ended again, after more than ten minutes": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(ago(610), exits(1, "Error", ago(9))), exits(1, "Error", ago(611)))),
			want: "app-0/app Error x1: " + exited1,
		},
		"could not be started again": {
			pod:  aPod(corev1.PodRunning, is("app", 1, since(metav1.Unix(0, 0), exits(128, "StartError", ago(9))))),
			want: "app-0/app CrashLoopBackOff x1: The container terminated with exit code 128 (StartError)",
		},
		"ended for good beside one that runs": {
			pod:  aPod(corev1.PodRunning, never, is("app", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app Error x1: " + exited1,
		},
		"crash loop by a rule of the container": {
			pod:  aPod(corev1.PodRunning, restartsOn(42), is("app", 5, exits(42, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app CrashLoopBackOff x5: The container terminated with exit code 42 (Error)",
		},
		"ended for good by its own policy": {
			pod:  aPod(corev1.PodRunning, restartsOn(42), is("app", 5, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/app Error x5: " + exited1,
		},
		"crash loop of a sidecar in a pod that is never restarted": {
			pod:  aPod(corev1.PodRunning, never, sidecar, is("init", 1, exits(1, "Error", ago(9))), is("side", 0, fine)),
			want: "app-0/init CrashLoopBackOff x1: " + exited1,
		},

		// How it goes on, and ends.
		"crash loop, runs again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(59)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1, again: 1,
		},
		"crash loop, ended again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(1, "Error", ago(1)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"crash loop, ended otherwise": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(137, "OOMKilled", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited2,
		},
		"crash loop, cannot be started": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(runContainerError, "no such file"), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: " + exited1,
		},
		"crash loop, has run for a minute": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(60)), exits(1, "Error", ago(90)))),
			before: entry("app", crashLoop, 5, exited1),
		},
		"crash loop of exits without an error": {
			pod:    aPod(corev1.PodRunning, is("app", 5, runs(ago(1)), exits(0, "Completed", ago(9)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0, again: 59,
		},
		"crash loop of exits without an error, ended again": {
			pod:    aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(1)))),
			before: entry("app", crashLoop, 5, exited0),
			want:   "app-0/app CrashLoopBackOff x5: " + exited0,
		},
		"crash loop of exits without an error, not seen before": {
			pod:  aPod(corev1.PodRunning, is("app", 5, exits(0, "Completed", ago(61)))),
			want: "app-0/app CrashLoopBackOff x5: " + exited0,
		},
		"crash loop, ended well at last": {
			pod:    aPod(corev1.PodRunning, onFailure, is("app", 5, exits(0, "Completed", ago(1))), is("side", 0, fine)),
			before: entry("app", crashLoop, 5, exited1),
		},
		"crash loop of an init container, ended well at last": {
			pod:    aPod(corev1.PodRunning, is("init", 5, exits(0, "Completed", ago(1))), is("app", 0, fine)),
			before: entry("init", crashLoop, 5, exited1),
		},
		"of another pod with the name": {
			pod:    aPod(corev1.PodRunning, is("app", 0, exits(1, "Error", ago(1)))),
			before: &v1alpha1.ProblemPod{Pod: "app-0", UID: "another", Container: "app", Reason: crashLoop},
			want:   "app-0/app Error x0: " + exited1,
		},
		"without what was said of the right": {
			pod:    aPod(corev1.PodRunning, is("app", 4, exits(1, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1+needsRight),
			want:   "app-0/app CrashLoopBackOff x4: " + exited1,
		},
		"crash loop, another exit code": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container terminated with exit code 3 (Error)",
		},
		"crash loop, another exit code this time": {
			pod:    aPod(corev1.PodRunning, is("app", 5, waits(crashLoop, backOff), exits(3, "Error", ago(9)))),
			before: entry("app", crashLoop, 5, exited1),
			want:   "app-0/app CrashLoopBackOff x5: The container terminated with exit code 3 (Error)",
		},
		"crash loop, of another container": {
			pod:    aPod(corev1.PodRunning, is("app", 1, exits(1, "Error", ago(9)))),
			before: entry("side", crashLoop, 4, exited1),
			want:   "app-0/app CrashLoopBackOff x1: " + exited1,
		},
	})
}
