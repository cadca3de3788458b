package pod

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

func TestCapabilities(t *testing.T) {
	for name, tc := range map[string]struct {
		add     []corev1.Capability
		allowed []string
		want    string // in the message; empty if nothing is refused
	}{
		"none":                     {},
		"those of Baseline":        {add: []corev1.Capability{"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}},
		"those of applications":    {add: []corev1.Capability{"NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_NICE", "SYS_RESOURCE", "CHECKPOINT_RESTORE"}},
		"power over mounts":        {add: []corev1.Capability{"SYS_ADMIN"}, want: "SYS_ADMIN"},
		"power over processes":     {add: []corev1.Capability{"SYS_PTRACE"}, want: "SYS_PTRACE"},
		"power over the kernel":    {add: []corev1.Capability{"SYS_MODULE", "BPF", "PERFMON"}, want: "SYS_MODULE, BPF, PERFMON"},
		"power over files":         {add: []corev1.Capability{"DAC_READ_SEARCH"}, want: "DAC_READ_SEARCH"},
		"power over devices":       {add: []corev1.Capability{"SYS_RAWIO", "SYS_TIME", "SYS_BOOT", "SYSLOG"}, want: "SYS_RAWIO, SYS_TIME, SYS_BOOT, SYSLOG"},
		"all":                      {add: []corev1.Capability{"all"}, want: "ALL"},
		"with the kernel's prefix": {add: []corev1.Capability{"cap_sys_admin"}, want: "SYS_ADMIN"},
		"of a later kernel":        {add: []corev1.Capability{"NEW_POWER"}, want: "NEW_POWER"},
		"the one that is allowed":  {add: []corev1.Capability{"SYS_PTRACE"}, allowed: []string{"SYS_PTRACE"}},
		"one beside it":            {add: []corev1.Capability{"SYS_PTRACE", "SYS_ADMIN"}, allowed: []string{"SYS_PTRACE"}, want: "SYS_ADMIN"},
		"where all are allowed":    {add: []corev1.Capability{"SYS_ADMIN", "ALL"}, allowed: []string{"ALL"}},
		"all, where some are":      {add: []corev1.Capability{"ALL"}, allowed: []string{"SYS_ADMIN"}, want: "ALL"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: tc.add, Drop: []corev1.Capability{"ALL"}}},
		}}}}
		want := ""
		if tc.want != "" {
			want = "The container has capabilities with power over the node (" + tc.want + "); the operator does not attach to it. To allow that, start the operator with --allow-capabilities=" + strings.ReplaceAll(tc.want, " ", "") + "."
		}
		if diff := cmp.Diff(want, Protection{Allowed: map[string][]string{"allow-capabilities": tc.allowed}}.Container(pod, "app")); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", name, diff)
		}
	}
}

func TestHostPaths(t *testing.T) {
	for name, tc := range map[string]struct {
		path     string
		mount    corev1.VolumeMount
		allowed  string
		refused  string // the path in the message
		readOnly string // the same with a read-only mount
	}{
		"all of the node":               {path: "/", refused: "/", readOnly: "/"},
		"a directory of the system":     {path: "/etc", refused: "/etc", readOnly: "/etc"},
		"with a slash at the end":       {path: "/etc/", refused: "/etc", readOnly: "/etc"},
		"a file below it":               {path: "/etc/kubernetes/admin.conf", refused: "/etc/kubernetes/admin.conf", readOnly: "/etc/kubernetes/admin.conf"},
		"the runtime's socket":          {path: "/var/run/docker.sock", refused: "/var/run/docker.sock", readOnly: "/var/run/docker.sock"},
		"the same by another name":      {path: "/run/containerd/containerd.sock", refused: "/run/containerd/containerd.sock", readOnly: "/run/containerd/containerd.sock"},
		"the kubelet's directory":       {path: "/var/lib/kubelet/pods", refused: "/var/lib/kubelet/pods", readOnly: "/var/lib/kubelet/pods"},
		"above the kubelet's directory": {path: "/var/lib", refused: "/var/lib", readOnly: "/var/lib"},
		"processes":                     {path: "/proc", refused: "/proc", readOnly: "/proc"},
		"the kernel":                    {path: "/sys", refused: "/sys", readOnly: "/sys"},
		"logs of all pods":              {path: "/var/log", refused: "/var/log", readOnly: "/var/log"},
		"programs":                      {path: "/usr/bin", refused: "/usr/bin"},
		"plugins that run as root":      {path: "/opt/cni/bin", refused: "/opt/cni/bin"},
		"above them":                    {path: "/opt", refused: "/opt"},
		"certificate authorities":       {path: "/etc/ssl/certs", refused: "/etc/ssl/certs"},
		"keys beside them":              {path: "/etc/ssl", refused: "/etc/ssl", readOnly: "/etc/ssl"},
		"the time zone":                 {path: "/etc/localtime"},
		"entropy":                       {path: "/dev/urandom"},
		"a directory of logs":           {path: "/var/log/shop"},
		"a local disk":                  {path: "/mnt/disks/ssd0"},
		"data":                          {path: "/data"},
		"data of an application":        {path: "/var/lib/kafka"},
		"an application":                {path: "/opt/shop"},
		"a name that begins like one":   {path: "/etcd-backup"},
		"a part of the node":            {path: "/", mount: corev1.VolumeMount{SubPath: "data"}},
		"a part of the system":          {path: "/var", mount: corev1.VolumeMount{SubPath: "lib/kubelet"}, refused: "/var/lib/kubelet", readOnly: "/var/lib/kubelet"},
		"a part by an expression":       {path: "/var", mount: corev1.VolumeMount{SubPathExpr: "log/$(NAME)"}, refused: "/var", readOnly: "/var"},
		"a path that is allowed":        {path: "/var/run/datadog", allowed: "/run/datadog"},
		"below it":                      {path: "/run/datadog/apm.socket", allowed: "/var/run/datadog"},
		"above it":                      {path: "/run", allowed: "/run/datadog", refused: "/run", readOnly: "/run"},
		"where all are allowed":         {path: "/etc", allowed: "/"},
	} {
		for _, readOnly := range []bool{false, true} {
			pod := &corev1.Pod{}
			tc.mount.Name, tc.mount.MountPath, tc.mount.ReadOnly = "node", "/node", readOnly
			pod.Spec.Containers = []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{tc.mount}}}
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "other", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
				{Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: tc.path}}},
			}
			var p Protection
			if tc.allowed != "" {
				p.Allowed = map[string][]string{"allow-host-paths": {tc.allowed}}
			}
			path, want := tc.refused, ""
			if readOnly {
				path = tc.readOnly
			}
			if path != "" {
				want = "The container mounts hostPath volumes of the node's system (" + path + "); the operator does not attach to it. To allow that, start the operator with --allow-host-paths=" + path + "."
			}
			if diff := cmp.Diff(want, p.Container(pod, "app")); diff != "" {
				t.Errorf("%s, read-only %t: message (-want +got):\n%s", name, readOnly, diff)
			}
		}
	}
}

// A container has the powers of those that share its process IDs at the same time.
func TestSharedProcessIDs(t *testing.T) {
	const want = "The container shares its process IDs (shareProcessNamespace) with container agent, which is privileged and mounts hostPath volumes of the node's system (/etc); the operator does not attach to it. To allow that, start the operator with --allow-privileged and --allow-host-paths=/etc."
	agent := corev1.Container{
		Name: "agent", SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
		VolumeMounts: []corev1.VolumeMount{{Name: "etc", MountPath: "/node"}},
	}
	sidecar := agent
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	debugger := func(target string) corev1.PodSpec {
		return corev1.PodSpec{EphemeralContainers: []corev1.EphemeralContainer{{TargetContainerName: target, EphemeralContainerCommon: corev1.EphemeralContainerCommon(agent)}}}
	}
	const ends = " It attaches when the ephemeral container has ended."
	targets := strings.Replace(want, "(shareProcessNamespace) with container", "(targetContainerName) with ephemeral container", 1) + ends
	ptrace := debugger("app")
	ptrace.EphemeralContainers[0].EphemeralContainerCommon = corev1.EphemeralContainerCommon{
		Name: "agent", SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}}},
	}
	running := corev1.ContainerStatus{Name: "agent", ContainerID: "containerd://agent", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, tc := range map[string]struct {
		share *bool
		spec  corev1.PodSpec
		init  []corev1.ContainerStatus
		debug []corev1.ContainerStatus // of ephemeral containers
		want  string
	}{
		"an ephemeral container that targets it":      {spec: debugger("app"), debug: []corev1.ContainerStatus{running}, want: targets},
		"an ephemeral container of the pod":           {share: new(true), spec: debugger(""), debug: []corev1.ContainerStatus{running}, want: strings.Replace(want, "with container", "with ephemeral container", 1) + ends},
		"an ephemeral container of another container": {spec: debugger("other"), debug: []corev1.ContainerStatus{running}},
		"an ephemeral container that does not start":  {spec: debugger("app"), debug: []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}},
		"an ephemeral container of kubectl debug":     {spec: ptrace, debug: []corev1.ContainerStatus{running}},
		"an ephemeral container that has ended":       {spec: debugger("app"), debug: []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}},
		"a container":                                 {share: new(true), spec: corev1.PodSpec{Containers: []corev1.Container{agent}}, want: want},
		"a sidecar":                                   {share: new(true), spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar}}, want: want},
		"an init container that runs":                 {share: new(true), spec: corev1.PodSpec{InitContainers: []corev1.Container{agent}}, init: []corev1.ContainerStatus{running}, want: want},
		"an init container that has ended":            {share: new(true), spec: corev1.PodSpec{InitContainers: []corev1.Container{agent}}},
		"a container with its own process IDs":        {share: new(false), spec: corev1.PodSpec{Containers: []corev1.Container{agent}}},
		"the default":                                 {spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar}}},
	} {
		pod := &corev1.Pod{Spec: tc.spec, Status: corev1.PodStatus{InitContainerStatuses: tc.init, EphemeralContainerStatuses: tc.debug}}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "app"})
		pod.Spec.ShareProcessNamespace = tc.share
		pod.Spec.Volumes = []corev1.Volume{{Name: "etc", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}}}}
		if diff := cmp.Diff(tc.want, Protection{}.Container(pod, "app")); diff != "" {
			t.Errorf("%s: message (-want +got):\n%s", name, diff)
		}
	}
}

func TestBindFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want power.Allowed
		err  string
	}{
		"none":                {},
		"one":                 {args: []string{"--allow-privileged"}, want: power.Allowed{"allow-privileged": nil}},
		"one that is revoked": {args: []string{"--allow-privileged", "--allow-privileged=false"}, want: power.Allowed{}},
		"lists": {args: []string{"--allow-capabilities=sys_ptrace,CAP_BPF", "--allow-capabilities=ALL", "--allow-host-paths=/run/datadog/"},
			want: power.Allowed{"allow-capabilities": {"SYS_PTRACE", "BPF", "ALL"}, "allow-host-paths": {"/run/datadog"}}},
		"no truth":              {args: []string{"--allow-host-ipc=perhaps"}, err: `invalid boolean value "perhaps" for -allow-host-ipc`},
		"no name":               {args: []string{"--allow-capabilities=SYS_PTRACE,"}, err: `"" is not the name of a capability, such as SYS_PTRACE`},
		"a path from somewhere": {args: []string{"--allow-host-paths=data"}, err: `"data" is not an absolute path`},
	} {
		flags := flag.NewFlagSet("manager", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		var p Protection
		p.BindFlags(flags)
		err := flags.Parse(tc.args)
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.err)
		}
		if diff := cmp.Diff(tc.want, p.Allowed); tc.err == "" && diff != "" {
			t.Errorf("%s: allowed (-want +got):\n%s", name, diff)
		}
	}
}
