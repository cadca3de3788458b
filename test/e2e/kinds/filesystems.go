package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// filesystems are kinds of what the agent and the attach socket are written to.
var filesystems = []Kind{
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
		ProvedBy:  "internal/helper TestReadOnlyTmp",
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
		ProvedBy: "test/integration TestPodWithoutSpace",
		Change: Change{
			Pod:       `volumes: [{name: tmp, emptyDir: {sizeLimit: 4Mi}}]`,
			Container: tmpMount,
		},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonStorageLimitTooLow, Words: []string{"sizeLimit of the emptyDir tmp is 4Mi"},
		AtNode: &Ending{}, // without the helper there is room
		Mended: &Change{},
	},
	{
		Name: "noexec", Title: "`noexec` `/tmp`",
		Change:    Change{Pod: noexecTmp, Container: asRoot + "\n" + tmpMount},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "noexec-exec", Title: "`noexec` `/tmp`, `transport: Exec`",
		ProvedBy:  "pkg/transport TestScriptOnNoexec",
		Change:    Change{Pod: noexecTmp, Container: asRoot + "\n" + tmpMount, Exporter: "transport: Exec"},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonHelperNotExecutable, Words: []string{"noexec"},
	},
	{
		Name: "no-tmp", Title: "no `/tmp`",
		ProvedBy:  "internal/helper TestNoTmp",
		Change:    Change{Container: noTmp},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonTmpNotWritable, Words: []string{"/tmp", "emptyDir"},
	},
	{
		Name: "no-tmp-ephemeral", Title: "no `/tmp`, `transport: EphemeralContainer`",
		ProvedBy:  "internal/helper TestNoTmp",
		Change:    Change{Container: noTmp, Exporter: "transport: EphemeralContainer"},
		Transport: v1alpha1.TransportEphemeralContainer,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonTmpNotWritable, Words: []string{"/tmp", "emptyDir"},
	},
}

// NoexecPath is a directory of a kind node that is mounted noexec: its shared memory is, as the
// containers' is. The operator attaches to a pod with it only with a flag.
const NoexecPath = "/dev/shm/e2e-noexec"

const noexecTmp = `volumes: [{name: tmp, hostPath: {path: ` + NoexecPath + `, type: DirectoryOrCreate}}]`

// noTmp runs the application in a file system that has no /tmp, as images from scratch.
var noTmp = script("rmdir /tmp && exec java -jar /app/dummyapp.jar") + "\n" + asRoot
