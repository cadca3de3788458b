package funcs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Agents remembers the agents of a namespace by their records, to look for what
// is left of them when the records are gone.
type Agents struct {
	namespace string
	records   []v1alpha1.JmxAttachment
}

// AgentsIn are the agents of a namespace.
func AgentsIn(namespace string) *Agents { return &Agents{namespace: namespace} }

// Remember remembers the agents as they are now.
func (a *Agents) Remember() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		a.records = attachmentsOf(a.namespace).all(ctx, t, c)
		remains := answer(ctx, t, func(ctx context.Context) (*remains, error) { return c.remains(ctx, a.records) })
		// What is looked for later must be seen now.
		if len(remains.threads) == 0 || len(remains.files) == 0 {
			t.Fatalf("the observer sees no agent: %+v", remains)
		}
	})
}

// Stopped waits until the pods say that their agents were taken out, and nothing
// is left of them: no thread, no file, no open port. Asked by the helper, those in
// containers with a shell report that they have stopped, and that they were loaded so
// many times.
func (s *Suite) Stopped(a *Agents, loads int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if len(a.records) == 0 {
			t.Fatal("no agents were remembered")
		}
		eventually(ctx, t, func(ctx context.Context) error {
			remains, err := c.remains(ctx, a.records)
			if err != nil {
				return err
			}
			if len(remains.threads) > 0 || len(remains.files) > 0 {
				return fmt.Errorf("of the agents there are left: threads %v, files %v", remains.threads, remains.files)
			}
			return nil
		})
		for _, r := range a.records {
			for _, p := range r.Status.Processes {
				c.closed(ctx, t, r.Namespace, r.Spec.Pod.Name, p.Port)
				if reachedBy(&r, p.Container) == v1alpha1.TransportEphemeralContainer {
					continue // no shell to ask it by
				}
				mark := answer(ctx, t, func(ctx context.Context) (*helperapi.Mark, error) {
					return s.mark(ctx, c, r.Namespace, r.Spec.Pod.Name, p.Container, p.PID)
				})
				if mark.State != helperapi.AgentStopped || mark.Loads != loads {
					t.Errorf("%s: %+v; want an agent that has stopped, loaded %d times", r.Spec.Pod.Name, mark, loads)
				}
			}
		}
	})
}

// Adopted asserts that the stock exporter was found in each JVM, and that nothing
// of ours is there but the helper.
func Adopted(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all := attachmentsOf(namespace).all(ctx, t, c)
		for _, r := range all {
			loaded := meta.FindStatusCondition(r.Status.Conditions, string(v1alpha1.PhaseLoaded))
			if loaded == nil || loaded.Status != metav1.ConditionTrue || loaded.Reason != v1alpha1.ReasonAdopted {
				t.Errorf("%s: Loaded is %+v, not True Adopted", r.Spec.Pod.Name, loaded)
			}
			for _, p := range r.Status.Processes {
				if !p.Adopted || p.Intent != nil || p.Staged != nil {
					t.Errorf("%s: process %d is not adopted, or more was done: %+v", r.Spec.Pod.Name, p.PID, p)
				}
			}
		}
		left := answer(ctx, t, func(ctx context.Context) (*remains, error) { return c.remains(ctx, all) })
		for _, file := range left.files {
			if !strings.Contains(file, " jmx-attach-") {
				t.Errorf("more than the helper is there: %s", file)
			}
		}
		if len(left.threads) > 0 {
			t.Errorf("threads of ours run: %v", left.threads)
		}
	})
}

// NothingLoaded asserts that no process of the applications has a jar of ours open.
func NothingLoaded(namespace string) features.Func {
	return seenIn(namespace, func(t *testing.T, seen *sight) {
		t.Helper()
		if len(seen.processes) == 0 {
			t.Fatal("the observer saw no process")
		}
		if len(seen.jars) > 0 {
			t.Fatalf("jars of ours are open: %v", seen.jars)
		}
	})
}

// NothingInstalled asserts that there is no directory of ours in the containers.
func NothingInstalled(namespace string) features.Func {
	return seenIn(namespace, func(t *testing.T, seen *sight) {
		t.Helper()
		for id, names := range seen.left {
			if names[".jmx-exporter"] {
				t.Fatalf("our directory is in container %s", id)
			}
		}
	})
}

// Uninstalled waits until our directory is in no container of the applications.
func Uninstalled(namespace string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		pods, err := podsOf(namespace, label)(ctx, c)
		if err != nil {
			return err
		}
		seen, err := c.look(ctx, pods)
		if err != nil {
			return err
		}
		for id, names := range seen.left {
			if names[".jmx-exporter"] {
				return fmt.Errorf("our directory is in container %s", id)
			}
		}
		return nil
	})
}

// seenIn is a verb about what the observer sees in the applications.
func seenIn(namespace string, assert func(t *testing.T, seen *sight)) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods := podsOf(namespace, label).all(ctx, t, c)
		assert(t, answer(ctx, t, func(ctx context.Context) (*sight, error) { return c.look(ctx, pods) }))
	})
}

// remains are what the observer sees of agents.
type remains struct{ threads, files []string }

// remainsScript prints the threads of processes, and what lies in our directory
// in their containers: arguments are process IDs.
const remainsScript = `
for p; do
  for t in /proc/$p/task/*/comm; do
    IFS= read -r name <"$t" && case $name in jmx-exporter* | jmx-exp..*) echo "thread $p $name" ;; esac
  done
  for f in /proc/$p/root/tmp/.jmx-exporter/* /proc/$p/root/tmp/.jmx-exporter/.[!.]*; do
    case $f in *'*'*) ;; *) echo "file $p ${f##*/}" ;; esac
  done
done 2>/dev/null
exit 0`

func (c *cluster) remains(ctx context.Context, of []v1alpha1.JmxAttachment) (*remains, error) {
	var pods []corev1.Pod
	for _, r := range of {
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	seen, err := c.look(ctx, pods)
	if err != nil {
		return nil, err
	}
	left := &remains{}
	for _, pod := range pods {
		command := []string{"sh", "-c", remainsScript, "remains"}
		for _, p := range seen.processes {
			if p.command == "java" && slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
				return shortID(s.ContainerID) == p.container
			}) {
				command = append(command, strconv.Itoa(p.hostPID))
			}
		}
		if len(command) == 4 {
			return nil, fmt.Errorf("no Java process of pod %s is seen", pod.Name)
		}
		output, err := c.observe(ctx, pod.Spec.NodeName, command...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(output) {
			what := pod.Name + ": " + strings.TrimSpace(line)
			if strings.HasPrefix(line, "thread ") {
				left.threads = append(left.threads, what)
			} else {
				left.files = append(left.files, what)
			}
		}
	}
	return left, nil
}
