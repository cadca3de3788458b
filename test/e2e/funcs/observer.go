package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// The observer is a pod on every worker that sees the processes of the node. It
// looks at applications without an exec in their containers, also where there
// is no shell, sends signals that no container can refuse, and filters packets
// for pods.
const (
	observerNamespace = "jmx-exporter-e2e-observer"
	observerLabel     = "app=observer"
)

func (c *cluster) startObserver(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: observerNamespace, Labels: map[string]string{
		labelFeature: "observer", "pod-security.kubernetes.io/enforce": "privileged",
	}}}
	labels := map[string]string{"app": "observer"}
	observer := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: observerNamespace, Name: "observer"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostPID:                       true,
					TerminationGracePeriodSeconds: ptr.To[int64](0),
					Containers: []corev1.Container{{
						Name: "observer", Image: "dummyapp:17", ImagePullPolicy: corev1.PullIfNotPresent,
						Command: []string{"sleep", "infinity"},
						SecurityContext: &corev1.SecurityContext{
							RunAsUser: ptr.To[int64](0), RunAsGroup: ptr.To[int64](0),
							Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE", "SYS_ADMIN", "NET_ADMIN"}},
						},
					}},
				},
			},
		},
	}
	return await(ctx, patience, func(ctx context.Context) error {
		// One that another run has brought is as good, unless it is about to go.
		for _, object := range []client.Object{namespace.DeepCopy(), observer.DeepCopy()} {
			if err := client.IgnoreAlreadyExists(c.Create(ctx, object)); err != nil {
				return err
			}
		}
		var found appsv1.DaemonSet
		if err := c.Get(ctx, client.ObjectKeyFromObject(observer), &found); err != nil {
			return err
		}
		if s := found.Status; s.NumberReady == 0 || s.NumberReady != s.DesiredNumberScheduled {
			return fmt.Errorf("%d of %d observers are ready", s.NumberReady, s.DesiredNumberScheduled)
		}
		return nil
	})
}

// process is a process in a container, as its node sees it.
type process struct {
	container string // ID
	hostPID   int
	pid       int    // in the container
	start     string // field 22 of proc_pid_stat(5)
	command   string
}

// sight is what the observer saw in containers.
type sight struct {
	processes []process
	// jars are jars of ours that processes have open, by container ID.
	jars map[string][]string
	// left are the names in /tmp and the attach triggers in working directories, by container ID.
	left map[string]map[string]bool
	// stopped are the processes that are stopped (SIGSTOP).
	stopped []process
}

// lookScript prints what the processes of containers are: arguments are their IDs. grep
// finds the processes, because a shell would read the files of all processes of the node
// byte by byte, each in a subshell: a process may end meanwhile.
const lookScript = `
tab='	'
for p in $(grep -lF "$(printf '%s\n' "$@")" /proc/[0-9]*/cgroup 2>/dev/null); do (
  p=${p%/cgroup} id= pid= stat=
  while IFS= read -r line; do
    for want; do case $line in *"$want"*) id=$want ;; esac; done
  done <"$p/cgroup"
  [ "$id" ] || exit
  while read -r key value; do case $key in NSpid:) pid=${value##*[!0-9]}; break ;; esac; done <"$p/status"
  IFS= read -r command <"$p/comm"
  IFS= read -r stat <"$p/stat"
  [ "$pid" ] && [ "$stat" ] || exit
  echo "process$tab$id$tab${p#/proc/}$tab$pid$tab$command$tab${stat##*) }"
  ls -l "$p/fd" | while IFS= read -r line; do
    case $line in *'-> /tmp/.jmx-exporter/'*.jar*) echo "jar$tab$id$tab${line##*-> }" ;; esac
  done
  for f in "$p"/root/tmp/* "$p"/root/tmp/.[!.]* "$p"/cwd/.attach_pid*; do
    case $f in *'*'*) ;; *) echo "left$tab$id$tab${f##*/}" ;; esac
  done
) 2>/dev/null; done
exit 0`

// look looks at the containers of pods.
func (c *cluster) look(ctx context.Context, pods []corev1.Pod) (*sight, error) {
	byNode := map[string][]string{}
	for _, pod := range pods {
		for _, status := range podfacts.ContainerStatuses(&pod) {
			if id := shortID(status.ContainerID); id != "" {
				byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], id)
			}
		}
	}
	seen := &sight{jars: map[string][]string{}, left: map[string]map[string]bool{}}
	for node, ids := range byNode {
		output, err := c.observe(ctx, node, append([]string{"sh", "-c", lookScript, "look"}, ids...)...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(output) {
			if err := seen.add(strings.Split(strings.TrimSuffix(line, "\n"), "\t")); err != nil {
				return nil, fmt.Errorf("the observer said %q: %w", line, err)
			}
		}
	}
	// The signal that is pending for a stopped process needs its attach trigger.
	for _, p := range seen.stopped {
		delete(seen.left[p.container], fmt.Sprintf(".attach_pid%d", p.pid))
	}
	return seen, nil
}

func (s *sight) add(fields []string) error {
	switch fields[0] {
	case "jar":
		s.jars[fields[1]] = append(s.jars[fields[1]], fields[2])
	case "left":
		if s.left[fields[1]] == nil {
			s.left[fields[1]] = map[string]bool{}
		}
		s.left[fields[1]][fields[2]] = true
	case "process":
		hostPID, err := strconv.Atoi(fields[2])
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(fields[3])
		if err != nil {
			return err
		}
		// What follows the command begins with field 3.
		stat := strings.Fields(fields[5])
		if len(stat) <= 22-3 {
			return errors.New("the state of a process is cut off")
		}
		if stat[0] == "Z" { // it has ended
			return nil
		}
		p := process{container: fields[1], hostPID: hostPID, pid: pid, command: fields[4], start: stat[22-3]}
		s.processes = append(s.processes, p)
		if stat[0] == "T" {
			s.stopped = append(s.stopped, p)
		}
	}
	return nil
}

// observe runs a command in the observer of a node.
func (c *cluster) observe(ctx context.Context, node string, command ...string) (string, error) {
	pods, err := c.pods(ctx, observerNamespace, observerLabel)
	if err != nil {
		return "", err
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == node {
			return c.exec(ctx, pod.Namespace, pod.Name, "observer", command...)
		}
	}
	return "", fmt.Errorf("no observer is on node %s", node)
}

// running are the Java processes that run in pods, as their nodes see them.
func (c *cluster) running(ctx context.Context, pods []corev1.Pod) (map[record.ProcessIdentity]bool, error) {
	seen, err := c.look(ctx, pods)
	if err != nil {
		return nil, err
	}
	full := map[string]string{}
	for _, pod := range pods {
		for _, s := range podfacts.ContainerStatuses(&pod) {
			full[shortID(s.ContainerID)] = s.ContainerID
		}
	}
	running := map[record.ProcessIdentity]bool{}
	for _, p := range seen.processes {
		if p.command != "java" {
			continue
		}
		start, err := strconv.ParseInt(p.start, 10, 64)
		if err != nil {
			return nil, err
		}
		running[record.ProcessIdentity{ContainerID: full[p.container], PID: int32(p.pid), StartTime: start}] = true
	}
	return running, nil
}

// kill sends SIGKILL, from the node, to a process of a pod with this name.
func (c *cluster) kill(ctx context.Context, pod *corev1.Pod, command string) error {
	return c.killOne(ctx, pod, command, func(p process) bool { return p.command == command })
}

// killProcess sends SIGKILL, from the node, to this process.
func (c *cluster) killProcess(ctx context.Context, namespace, pod string, identity record.ProcessIdentity) error {
	var its corev1.Pod
	if err := await(ctx, patience, func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, &its)
	}); err != nil {
		return err
	}
	return c.killOne(ctx, &its, fmt.Sprintf("%+v", identity), func(p process) bool {
		return p.container == shortID(identity.ContainerID) && p.pid == int(identity.PID) && p.start == strconv.FormatInt(identity.StartTime, 10)
	})
}

// killOne looks until the process is seen, and from then on at no other: where the
// answer to a try was lost, another one may run in its place by now.
func (c *cluster) killOne(ctx context.Context, pod *corev1.Pod, which string, is func(process) bool) error {
	var pid string
	if err := await(ctx, patience, func(ctx context.Context) error {
		seen, err := c.look(ctx, []corev1.Pod{*pod})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(seen.processes, is)
		if i < 0 {
			return fmt.Errorf("pod %s has no process %s: %+v", pod.Name, which, seen.processes)
		}
		pid = strconv.Itoa(seen.processes[i].hostPID)
		return nil
	}); err != nil {
		return err
	}
	return await(ctx, patience, func(ctx context.Context) error {
		_, err := c.observe(ctx, pod.Spec.NodeName, "sh", "-c", `kill -9 "$1" 2>/dev/null || [ ! -e "/proc/$1" ]`, "kill", pid)
		return err
	})
}

// shortID is the ID of a container without its runtime's name.
func shortID(containerID string) string {
	_, id, _ := strings.Cut(containerID, "://")
	return id
}
