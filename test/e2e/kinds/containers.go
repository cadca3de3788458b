package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// containers are kinds of images, users, file systems, and limits.
var containers = []Kind{
	{
		Name: "ordinary", Title: "non-root, with a shell",
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "root", Title: "root, with a shell",
		Change:    Change{Container: `securityContext: {runAsUser: 0, runAsGroup: 0}`},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "other-user", Title: "an entry point that drops root (`setpriv`, `gosu`)",
		Change: Change{Container: `
command: [setpriv, --reuid=1000, --regid=1000, --clear-groups, java, -jar, /app/dummyapp.jar]
securityContext: {runAsUser: 0, runAsGroup: 0}`},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "distroless", Title: "distroless, non-root",
		Change:    Change{Container: noShell},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "distroless-root", Title: "distroless, root",
		Change:    Change{Container: noShell + "\nsecurityContext: {runAsUser: 0, runAsGroup: 0}"},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "distroless-exec", Title: "distroless, `transport: Exec`",
		Change:    Change{Container: noShell, Exporter: "transport: Exec"},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonNoShell, Words: []string{"no shell"},
		Mended: &Change{Container: noShell, Exporter: "transport: Auto"},
	},
	{
		Name: "always-door", Title: "with a shell, `transport: EphemeralContainer`",
		Change:    Change{Exporter: "transport: EphemeralContainer"},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "door-refused", Title: "distroless, where a policy refuses ephemeral containers",
		Change:    Change{Container: noShell},
		Files:     []string{"manifests/kinds/no-ephemeral-containers.yaml"},
		Transport: v1alpha1.TransportEphemeralContainer,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonDoorRefused, Words: []string{"no ephemeral containers in orders"},
	},
	{
		Name: "restricted", Title: "distroless, in a `restricted` namespace",
		Change: Change{Container: noShell + `
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}`},
		Files:     []string{"manifests/kinds/restricted.yaml"},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "read-only", Title: "read-only root file system",
		Change:    Change{Container: `securityContext: {readOnlyRootFilesystem: true}`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonTmpNotWritable, Words: []string{"/tmp", "emptyDir"},
		Mended: &Change{
			Pod:       `volumes: [{name: tmp, emptyDir: {}}]`,
			Container: "securityContext: {readOnlyRootFilesystem: true}\n" + tmpMount,
		},
	},
	{
		Name: "distroless-read-only", Title: "read-only root file system, distroless",
		Change:    Change{Container: noShell + "\nsecurityContext: {readOnlyRootFilesystem: true}"},
		Transport: v1alpha1.TransportEphemeralContainer,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonTmpNotWritable, Words: []string{"/tmp", "emptyDir"},
	},
	{
		Name: "distroless-read-only-tmp", Title: "read-only root file system with an emptyDir at `/tmp`, distroless",
		Change: Change{
			Pod:       `volumes: [{name: tmp, emptyDir: {}}]`,
			Container: noShell + "\nsecurityContext: {readOnlyRootFilesystem: true}\n" + tmpMount,
		},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "little-space", Title: "an emptyDir at `/tmp` with a sizeLimit of 4Mi",
		Change: Change{
			Pod:       `volumes: [{name: tmp, emptyDir: {sizeLimit: 4Mi}}]`,
			Container: tmpMount,
		},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonStorageLimitTooLow, Words: []string{"sizeLimit of the emptyDir tmp is 4Mi"},
		Mended: &Change{},
	},
	{
		Name: "little-memory", Title: "a heap that fills the memory limit",
		Change: Change{Container: options("-Xms64m, -Xmx64m, -XX:+AlwaysPreTouch") + `
resources: {limits: {memory: 128Mi}}`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of 128 MiB", "spec.memoryHeadroom"},
		Mended: &Change{},
	},
	{
		Name: "little-memory-25", Title: "a heap that fills the memory limit, Java 25",
		Change: Change{Container: `image: "dummyapp:25"` + "\n" + options("-Xms64m, -Xmx64m, -XX:+AlwaysPreTouch") + `
resources: {limits: {memory: 128Mi}}`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of 128 MiB", "spec.memoryHeadroom"},
	},
	{
		Name: "shared-pids", Title: "`shareProcessNamespace`, distroless",
		Change: Change{
			Pod: `
shareProcessNamespace: true
containers: [{name: pause, image: "pause:dev", imagePullPolicy: IfNotPresent}]`,
			Container: noShell,
		},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
}
