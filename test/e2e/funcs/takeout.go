package funcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
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
		var err error
		if a.records, err = c.records(ctx, a.namespace); err != nil {
			t.Fatal(err)
		}
		if len(a.records) == 0 {
			t.Fatal("there are no attachments")
		}
		remains, err := c.remains(ctx, a.records)
		if err != nil {
			t.Fatal(err)
		}
		// What is looked for later must be seen now.
		if len(remains.threads) == 0 || len(remains.files) == 0 {
			t.Fatalf("the observer sees no agent: %+v", remains)
		}
	})
}

// Stopped waits until the pods say that their agents were taken out, and nothing
// is left of them: no thread, no file, no open port. Asked by the helper, they
// tell that they have stopped, and that they were loaded so many times.
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
		helper := filepath.Join(s.root, "bin", "jmx-attach-"+runtime.GOARCH)
		for _, r := range a.records {
			for _, p := range r.Status.Processes {
				if page, err := c.get(ctx, r.Namespace, r.Spec.Pod.Name, p.Port, "/metrics"); err == nil {
					t.Errorf("pod %s still serves port %d:\n%s", r.Spec.Pod.Name, p.Port, page)
				}
				mark, err := c.markBy(ctx, helper, r, p)
				if err != nil {
					t.Fatal(err)
				}
				if mark.State != attach.AgentStopped || mark.Loads != loads {
					t.Errorf("%s: %+v; want an agent that has stopped, loaded %d times", r.Spec.Pod.Name, mark, loads)
				}
			}
		}
	})
}

// Loaded asserts that the agent of each attachment runs, and was loaded so many
// times into its JVM: once, and once more each time that it was taken out between.
func Loaded(namespace string, times int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			t.Fatal("there are no attachments")
		}
		for _, r := range all {
			mark, err := c.mark(ctx, &r, &r.Status.Processes[0])
			if err != nil {
				t.Fatal(err)
			}
			if mark.Loads != times || mark.State != attach.AgentRunning {
				t.Errorf("%s: %+v; want an agent that runs, loaded %d times", r.Spec.Pod.Name, mark, times)
			}
		}
	})
}

// remains are what the observer sees of agents.
type remains struct{ threads, files []string }

// remainsScript prints the threads of processes, and what lies in our directory
// in their containers: arguments are process IDs.
const remainsScript = `
for p; do
  for t in /proc/$p/task/*/comm; do
    IFS= read -r name <"$t" && case $name in jmx-exporter*) echo "thread $p $name" ;; esac
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

// markBy is what an agent says of itself, as a helper reads it that is brought
// into the container for it and taken away again.
func (c *cluster) markBy(ctx context.Context, helper string, r v1alpha1.JmxAttachment, p v1alpha1.JavaProcess) (*attach.Mark, error) {
	program, err := os.ReadFile(helper)
	if err != nil {
		return nil, err
	}
	const script = `cat >/tmp/e2e-helper && chmod 755 /tmp/e2e-helper && /tmp/e2e-helper status --pid "$1" -o json; rm -f /tmp/e2e-helper`
	ctx, cancel := context.WithTimeout(ctx, execTimeout)
	defer cancel()
	kube, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	address := kube.CoreV1().RESTClient().Post().Resource("pods").Namespace(r.Namespace).Name(r.Spec.Pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: p.Container, Command: []string{"sh", "-c", script, "status", strconv.Itoa(int(p.PID))}, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, address.String())
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: bytes.NewReader(program), Stdout: &stdout, Stderr: &stderr}); err != nil {
		return nil, fmt.Errorf("the helper in pod %s: %w %s", r.Spec.Pod.Name, err, stderr.String())
	}
	var report attach.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		return nil, fmt.Errorf("%s: %w: %s %s", r.Spec.Pod.Name, err, stdout.String(), stderr.String())
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return nil, fmt.Errorf("%s: the agent's mark is not there: %s", r.Spec.Pod.Name, stdout.String())
	}
	return report.Processes[0].Mark, nil
}

// PatchPods merges a change into each pod of the application, as a field manager.
func PatchPods(namespace, manager, change string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pods, err := c.pods(ctx, namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) == 0 {
			t.Fatal("no pod is there")
		}
		for _, pod := range pods {
			if err := c.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, []byte(change)), client.FieldOwner(manager)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// NoRecord waits until no record is left in a namespace, whatever its exporter is.
func NoRecord(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.records(ctx, namespace)
			if err == nil && len(all) > 0 {
				err = fmt.Errorf("%d records are left, the first %s %s", len(all), all[0].Status.Phase, all[0].Status.Reason)
			}
			return err
		})
	})
}

// AnnotationsOnly waits until each pod of the application has exactly these
// annotations, but for those of the cluster itself.
func AnnotationsOnly(namespace string, want map[string]string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			if len(pods) == 0 {
				return errors.New("no pod is there")
			}
			for _, pod := range pods {
				have := maps.Clone(pod.Annotations)
				maps.DeleteFunc(have, func(name, _ string) bool { return strings.Contains(name, "kubernetes.io/") })
				if !maps.Equal(have, want) {
					return fmt.Errorf("pod %s has the annotations %v, not %v", pod.Name, have, want)
				}
			}
			return nil
		})
	})
}

// ToldWith waits for an Event that regards each pod of the application and says
// these words.
func ToldWith(namespace, eventType, reason string, words ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, namespace, label)
			if err != nil {
				return err
			}
			var list eventsv1.EventList
			if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
				return err
			}
			for _, pod := range pods {
				i := slices.IndexFunc(list.Items, func(e eventsv1.Event) bool {
					return e.Regarding.Name == pod.Name && e.Type == eventType && e.Reason == reason
				})
				if i < 0 {
					return fmt.Errorf("no %s Event %s regards %s", eventType, reason, pod.Name)
				}
				for _, w := range words {
					if !strings.Contains(list.Items[i].Note, w) {
						return fmt.Errorf("%s: %q does not say %q", pod.Name, list.Items[i].Note, w)
					}
				}
			}
			return nil
		})
	})
}

// Unpublished waits until no endpoint stands in an EndpointSlice of ours.
func Unpublished(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			var list discoveryv1.EndpointSliceList
			if err := c.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelExporterUID}); err != nil {
				return err
			}
			for _, slice := range list.Items {
				if len(slice.Endpoints) > 0 {
					return fmt.Errorf("EndpointSlice %s has endpoints: %+v", slice.Name, slice.Endpoints)
				}
			}
			return nil
		})
	})
}

// Patience waits until each record says how long taking out is tried.
func Patience(namespace, timeout string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.records(ctx, namespace)
			if err != nil {
				return err
			}
			for _, r := range all {
				if have := r.Status.DetachTimeout.Duration.String(); have != timeout {
					return fmt.Errorf("%s: status.detachTimeout is %s, not %s", r.Spec.Pod.Name, have, timeout)
				}
			}
			return nil
		})
	})
}

// Adopted asserts that the stock exporter was found in each JVM, and that nothing
// of ours is there but the helper.
func Adopted(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all, err := c.records(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 0 {
			t.Fatal("there are no attachments")
		}
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
		left, err := c.remains(ctx, all)
		if err != nil {
			t.Fatal(err)
		}
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

// Annotation follows an annotation of the pods of a namespace.
type Annotation struct {
	namespace, name string

	mu sync.Mutex
	// without are the resourceVersions of pods that did not have it.
	without []string
	last    map[types.UID]string
}

// AnnotationOf follows an annotation.
func AnnotationOf(namespace, name string) *Annotation {
	return &Annotation{namespace: namespace, name: name, last: map[types.UID]string{}}
}

// Begin follows it from now on, to the end of the feature: it belongs into a Setup.
func (a *Annotation) Begin() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		c.follow(ctx, t, a.namespace, &corev1.PodList{}, func(object kruntime.Object) {
			if pod, ok := object.(*corev1.Pod); ok {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.last[pod.UID] = pod.ResourceVersion
				if pod.Annotations[a.name] == "" {
					a.without = append(a.without, pod.Name+" at "+pod.ResourceVersion)
				}
			}
		})
	})
}

// Kept asserts that it was on all pods all the while, in whatever the API server
// has stored of them.
func (a *Annotation) Kept() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := c.pods(ctx, a.namespace, label)
			if err != nil {
				return err
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			for _, pod := range pods {
				if a.last[pod.UID] != pod.ResourceVersion {
					return fmt.Errorf("what was seen of pod %s has not come to resourceVersion %s", pod.Name, pod.ResourceVersion)
				}
			}
			return nil
		})
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.without) > 0 {
			t.Errorf("%s was not there: %v", a.name, a.without)
		}
	})
}
