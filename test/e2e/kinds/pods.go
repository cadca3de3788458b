package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// pods are kinds of pods: what runs beside the JVM, and what it may use.
var pods = []Kind{
	{
		Name: "shared-pids", Title: "`shareProcessNamespace`, distroless",
		Change: Change{
			Pod: `
shareProcessNamespace: true
$setElementOrder/containers: [{name: dummyapp}, {name: pause}]
containers: [{name: pause, image: "pause:dev", imagePullPolicy: IfNotPresent}]`,
			Container: noShell,
		},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "host-network", Title: "`hostNetwork`",
		ProvedBy: "test/integration TestPodProtected",
		Change:   Change{Pod: "hostNetwork: true"},
		Phase:    v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonPodProtected, Words: []string{"hostNetwork", "--allow-host-network"},
	},
	{
		Name: "host-pid", Title: "`hostPID`",
		ProvedBy: "test/integration TestPodProtected",
		Change:   Change{Pod: "hostPID: true"},
		Phase:    v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonPodProtected, Words: []string{"hostPID", "--allow-host-pid"},
	},
	{
		Name: "privileged", Title: "a privileged container",
		ProvedBy: "test/integration TestPodProtected",
		Change:   Change{Container: "securityContext: {privileged: true}"},
		Phase:    v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonPodProtected, Words: []string{"privileged", "--allow-privileged"},
	},
	{
		Name: "little-memory", Title: "a heap that fills the memory limit",
		Change: Change{Container: options("-Xms64m, -Xmx64m, -XX:+AlwaysPreTouch") + `
resources: {limits: {memory: 128Mi}}`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of 128 MiB", "spec.memoryHeadroom"},
		AtNode: &Ending{Phase: v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of the pod of 128 MiB", "spec.memoryHeadroom"}},
		Mended: &Change{},
	},
	{
		Name: "little-memory-25", Title: "a heap that fills the memory limit, Java 25",
		ProvedBy: "internal/helper TestLittleMemory",
		Change: Change{Container: `image: "dummyapp:25"` + "\n" + options("-Xms64m, -Xmx64m, -XX:+AlwaysPreTouch") + `
resources: {limits: {memory: 128Mi}}`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of 128 MiB", "spec.memoryHeadroom"},
		AtNode: &Ending{Phase: v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"memory limit of the pod of 128 MiB", "spec.memoryHeadroom"}},
	},
	{
		Name: "pod-memory", Title: "a memory limit of the pod, beside a container without one",
		Change: Change{Pod: `
resources: {limits: {memory: 512Mi}}
$setElementOrder/containers: [{name: dummyapp}, {name: pause}]
containers: [{name: pause, image: "pause:dev", imagePullPolicy: IfNotPresent}]`},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseStaged, Reason: v1alpha1.ReasonInsufficientMemory, Words: []string{"limit of the pod (spec.resources) of 512 MiB", "container pause"},
		Mended: &Change{Pod: `
resources: {limits: {memory: 512Mi}}
$setElementOrder/containers: [{name: dummyapp}, {name: pause}]
containers: [{name: pause, image: "pause:dev", imagePullPolicy: IfNotPresent, resources: {limits: {memory: 32Mi}}}]`},
	},
	{
		Name: "few-threads", Title: "threads up to the kubelet's `podPidsLimit`",
		// The pod's limit of kind-config.yaml, without its pause container, and 14 more.
		Change:    Change{Container: options("-Ddummy.tasks=1009, -Xss256k")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonInsufficientThreads, Words: []string{"8 threads could not be started", "podPidsLimit"},
		AtNode: &Ending{Phase: v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonInsufficientThreads, Words: []string{"tasks (processes and threads) must be free"}},
		Mended: &Change{},
	},
	{
		Name: "little-heap", Title: "`-XX:+ExitOnOutOfMemoryError`, and less than 24 MiB of heap free",
		Change:    Change{Container: options("-XX:+ExitOnOutOfMemoryError, -Xmx20m")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonInsufficientHeap, Words: []string{"-XX:+ExitOnOutOfMemoryError", "24 MiB must be free"},
		Mended: &Change{Container: options("-XX:+ExitOnOutOfMemoryError, -Xmx64m")},
	},
	{
		Name: "little-metaspace", Title: "`-XX:MaxMetaspaceSize`, and less than 10 MiB of it free",
		Change:    Change{Container: options("-XX:MaxMetaspaceSize=10m")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonInsufficientMetaspace, Words: []string{"10 MiB of the JVM's metaspace", "-XX:MaxMetaspaceSize"},
		Mended: &Change{Container: options("-XX:MaxMetaspaceSize=64m")},
	},
	{
		Name: "init", Title: "a JVM in an init container, which has ended",
		Change: Change{Pod: `
initContainers:
- {name: migrate, image: "dummyapp:17", imagePullPolicy: IfNotPresent, command: [java, -Ddummy.exitAfter=1, -jar, /app/dummyapp.jar]}`},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "sidecar", Title: "a JVM in a sidecar (an init container with `restartPolicy: Always`)",
		Change: Change{
			Pod: `
initContainers:
- {name: sidecar, image: "dummyapp:17", imagePullPolicy: IfNotPresent, restartPolicy: Always}`,
			Container: "command: [sleep, infinity]",
		},
		JavaIn:    "sidecar",
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "two", Title: "two JVMs in a container",
		ProvedBy:  "test/e2e TestSeveralJVMs",
		Change:    Change{Container: script("java -Xmx32m -jar /app/dummyapp.jar & exec java -Xmx32m -jar /app/dummyapp.jar")},
		JVMs:      2,
		Transport: v1alpha1.TransportExec,
	},
}
