package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// containers are kinds of images, users, and ways into them.
var containers = []Kind{
	{
		Name: "ordinary", Title: "non-root, with a shell, a runtime without `jdk.attach`",
		ProvedBy:  "test/e2e TestDemo",
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "root", Title: "root, with a shell",
		ProvedBy:  "internal/helper TestLife",
		Change:    Change{Container: asRoot},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "other-user", Title: "an entry point that drops root (`setpriv`, `gosu`)",
		ProvedBy:  "internal/helper TestOtherUsersJVM",
		Change:    Change{Container: dropsRoot},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "other-user-ephemeral", Title: "an entry point that drops root, `transport: EphemeralContainer`",
		Change:    Change{Container: dropsRoot, Exporter: "transport: EphemeralContainer"},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "distroless", Title: "distroless, non-root",
		ProvedBy:  "test/e2e TestDemo",
		Change:    Change{Container: noShell},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "distroless-root", Title: "distroless, root",
		ProvedBy:  "pkg/transport TestDoorRights",
		Change:    Change{Container: noShell + "\n" + asRoot},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "distroless-exec", Title: "distroless, `transport: Exec`",
		ProvedBy:  "pkg/steps TestTransport",
		Change:    Change{Container: noShell, Exporter: "transport: Exec"},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonNoShell, Words: []string{"no shell"},
		Mended: &Change{Container: noShell, Exporter: "transport: Auto"},
	},
	{
		Name: "always-door", Title: "with a shell, `transport: EphemeralContainer`",
		ProvedBy:  "pkg/steps TestTransport",
		Change:    Change{Exporter: "transport: EphemeralContainer"},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "door-refused", Title: "distroless, where a policy refuses ephemeral containers",
		ProvedBy:  "pkg/transport TestDoorRefused",
		Change:    Change{Container: noShell},
		Files:     []string{"manifests/kinds/no-ephemeral-containers.yaml"},
		Transport: v1alpha1.TransportEphemeralContainer,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonDoorRefused, Words: []string{"no ephemeral containers in orders"},
		AtNode: &Ending{},
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
}

const dropsRoot = "command: [setpriv, --reuid=1000, --regid=1000, --clear-groups, java, -jar, /app/dummyapp.jar]\n" + asRoot
