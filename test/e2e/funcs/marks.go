package funcs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// LoadedOnce asserts that the agent runs in each JVM that it was loaded into, of
// all attachments, and was loaded exactly once there, as the agent itself says.
func LoadedOnce(namespace string) features.Func {
	return attachmentsOf(namespace).each(func(ctx context.Context, t *testing.T, c *cluster, r *v1alpha1.JmxAttachment) {
		t.Helper()
		loaded := 0
		for _, p := range r.Status.Processes {
			if !steps.Ours(&p) {
				continue
			}
			loaded++
			mark, err := c.mark(ctx, r, &p)
			if err != nil {
				t.Fatal(err)
			}
			if mark.Loads != 1 || mark.State != attach.AgentRunning || mark.Port != p.Port {
				t.Errorf("%s, process %d of container %s: %+v; want one load, and the agent running on port %d",
					r.Spec.Pod.Name, p.PID, p.Container, mark, p.Port)
			}
		}
		if loaded == 0 {
			t.Errorf("%s: nothing was loaded: %+v", r.Spec.Pod.Name, r.Status)
		}
	})
}

// Loaded asserts that the agent of each attachment runs, and was loaded so many
// times into its JVM: once, and once more each time that it was taken out between.
func Loaded(namespace string, times int) features.Func {
	return attachmentsOf(namespace).each(func(ctx context.Context, t *testing.T, c *cluster, r *v1alpha1.JmxAttachment) {
		t.Helper()
		mark, err := c.mark(ctx, r, &r.Status.Processes[0])
		if err != nil {
			t.Fatal(err)
		}
		if mark.Loads != times || mark.State != attach.AgentRunning {
			t.Errorf("%s: %+v; want an agent that runs, loaded %d times", r.Spec.Pod.Name, mark, times)
		}
	})
}

// mark is what the agent in a process says of itself, as the helper in the
// container reads it.
func (c *cluster) mark(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess) (*attach.Mark, error) {
	output, err := c.exec(ctx, r.Namespace, r.Spec.Pod.Name, p.Container,
		"sh", "-c", `for helper in `+attach.Home+`/jmx-attach-*; do exec "$helper" status --pid "$1" -o json; done`, "status", strconv.Itoa(int(p.PID)))
	if err != nil {
		return nil, err
	}
	var report attach.Report
	if err := json.Unmarshal([]byte(output), &report); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", r.Spec.Pod.Name, err, output)
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return nil, fmt.Errorf("%s: the agent's mark is not there: %s", r.Spec.Pod.Name, output)
	}
	return report.Processes[0].Mark, nil
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
