package problem

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Each container of the pod that fails.
func TestFindContainer(t *testing.T) {
	testFind(t, map[string]findCase{
		// Containers that wait.
		"the image is missing": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits(errImagePull, notFound)), is("side", 0, waits(containerCreating, ""))),
			want: "app-0/app ErrImagePull x0: " + notFound,
		},
		"the image is still missing": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "registry.example/app:1": ErrImagePull: `+notFound))),
			before: entry("app", errImagePull, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"the image is still missing, with an older kubelet": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "registry.example/app:1"`))),
			before: entry("app", errImagePull, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"the image is missing in a retry": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(errImagePull, "another text"))),
			before: entry("app", imagePullBackOff, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: " + notFound,
		},
		"the registry is unavailable in a retry": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits("RegistryUnavailable", "no route"))),
			before: entry("app", imagePullBackOff, 0, "no route"),
			want:   "app-0/app ImagePullBackOff x0: no route",
		},
		"the registry is still unavailable": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": RegistryUnavailable: no route`))),
			before: entry("app", "RegistryUnavailable", 0, "no route"),
			want:   "app-0/app ImagePullBackOff x0: no route",
		},
		"the image is missing for another reason": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": ErrImagePull: unauthorized`))),
			before: entry("app", imagePullBackOff, 0, notFound),
			want:   "app-0/app ImagePullBackOff x0: unauthorized",
		},
		"the image times out from another port": {
			pod:    aPod(corev1.PodPending, is("app", 0, waits(imagePullBackOff, `Back-off pulling image "x": ErrImagePull: dial tcp: read udp 10.0.0.3:41234->10.96.0.10:53: i/o timeout`))),
			before: entry("app", imagePullBackOff, 0, "dial tcp: read udp 10.0.0.3:5->10.96.0.10:53: i/o timeout"),
			want:   "app-0/app ImagePullBackOff x0: dial tcp: read udp 10.0.0.3:5->10.96.0.10:53: i/o timeout",
		},
		"the configuration is missing": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits("CreateContainerConfigError", `secret "db" not found`))),
			want: `app-0/app CreateContainerConfigError x0: secret "db" not found`,
		},
		"the image of an init container is missing": {
			pod:  aPod(corev1.PodPending, is("init", 0, waits(errImagePull, notFound)), is("app", 0, waits(podInitializing, ""))),
			want: "app-0/init ErrImagePull x0: " + notFound,
		},
		"the second container fails": {
			pod:  aPod(corev1.PodRunning, is("side", 2, waits(crashLoop, backOff), exits(1, "Error", ago(9))), is("app", 0, fine)),
			want: "app-0/side CrashLoopBackOff x2: " + exited1,
		},
		"both containers fail, in another order": {
			pod:  aPod(corev1.PodRunning, is("side", 2, waits(crashLoop, backOff), exits(1, "Error", ago(9))), is("app", 1, exits(137, "OOMKilled", ago(9)))),
			want: "app-0/app CrashLoopBackOff x1: " + exited2 + "\napp-0/side CrashLoopBackOff x2: " + exited1,
		},
		"one container is created, another fails": {
			pod:  aPod(corev1.PodPending, created(ago(5)), is("app", 0, waits(containerCreating, "")), is("side", 0, waits("InvalidImageName", "no"))),
			want: "app-0/side InvalidImageName x0: no",
		},
		"the message has invalid characters": {
			pod:  aPod(corev1.PodPending, is("app", 0, waits("Odd\x00", "a\x1b[31mred\x1b[0m \x07 word\xff\u202e"))),
			want: "app-0/app Odd? x0: ared ? word??",
		},

		// Containers that exit.
		"a container exited":                  {pod: aPod(corev1.PodRunning, is("app", 0, exits(1, "Error", ago(3000))), is("side", 0, fine)), want: "app-0/app Error x0: " + exited1},
		"a container exited without a reason": {pod: aPod(corev1.PodRunning, is("app", 0, exits(1, "", ago(9)))), want: "app-0/app Error x0: " + exited1},
		"a container exited with a termination message": {
			pod:  aPod(corev1.PodRunning, is("app", 0, saying(exits(1, "Error", ago(9)), "password=hunter2"))),
			want: "app-0/app Error x0: " + exited1,
		},
		"the runtime cannot start a container": {
			pod:  aPod(corev1.PodRunning, is("app", 2, waits(crashLoop, backOff), saying(exits(128, "StartError", ago(9)), "exec: \"jaba\": not found\nmore"))),
			want: `app-0/app CrashLoopBackOff x2: The container terminated with exit code 128 (StartError): exec: "jaba": not found`,
		},
		"a container restarts for the first time": {
			pod:    aPod(corev1.PodRunning, is("app", 1, runs(ago(10)), exits(1, "Error", ago(11)))),
			before: entry("app", "Error", 0, exited1),
			want:   "app-0/app Error x1: " + exited1, again: 50,
		},
		"a container restarted before it was seen": {
			pod:  aPod(corev1.PodRunning, is("app", 1, runs(ago(10)), exits(137, "OOMKilled", ago(11)))),
			want: "app-0/app OOMKilled x1: " + exited2, again: 50,
		},
	})
}
