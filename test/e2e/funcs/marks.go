package funcs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// LoadedOnce asserts that the agent runs in each JVM that it was loaded into, of
// all attachments, and was loaded exactly once there, as the agent itself says.
func LoadedOnce(namespace string) features.Func {
	return attachmentsOf(namespace).each(func(ctx context.Context, t *testing.T, c *cluster, r *v1alpha1.JmxAttachment) {
		t.Helper()
		loaded := 0
		for _, p := range r.Status.Processes {
			if !record.MayHaveAgent(&p) {
				continue
			}
			loaded++
			mark := answer(ctx, t, func(ctx context.Context) (*helperapi.Mark, error) { return c.mark(ctx, r, &p) })
			if mark.Loads != 1 || mark.State != helperapi.AgentRunning || mark.Port != p.Port {
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
		mark := answer(ctx, t, func(ctx context.Context) (*helperapi.Mark, error) { return c.mark(ctx, r, &r.Status.Processes[0]) })
		if mark.Loads != times || mark.State != helperapi.AgentRunning {
			t.Errorf("%s: %+v; want an agent that runs, loaded %d times", r.Spec.Pod.Name, mark, times)
		}
	})
}

// mark is what the agent in a process says of itself, as the helper in the
// container reads it, or the one in the ephemeral container beside it.
func (c *cluster) mark(ctx context.Context, r *v1alpha1.JmxAttachment, p *v1alpha1.JavaProcess) (*helperapi.Mark, error) {
	switch reachedBy(r, p.Container) { //nolint:exhaustive // by exec otherwise
	case v1alpha1.TransportEphemeralContainer:
		return c.markFromDoor(ctx, r, p)
	case v1alpha1.TransportNode:
		return c.markFromNode(ctx, r, p)
	}
	stdout, stderr, err := execAs(ctx, c.config, nil, r.Namespace, r.Spec.Pod.Name, p.Container,
		"sh", "-c", `for helper in `+helperapi.AgentDirectory+`/jmx-attach-*; do exec "$helper" status --pid "$1" -o json; done`, "status", strconv.Itoa(int(p.PID)))
	if err != nil {
		return nil, err
	}
	return markIn(r.Spec.Pod.Name, stdout, stderr)
}

// mark is what an agent says of itself, as a helper reads it that is brought
// into the container for it and taken away again: there is none of ours any more.
func (s *Suite) mark(ctx context.Context, c *cluster, namespace, pod, container string, pid int32) (*helperapi.Mark, error) {
	helper, err := os.ReadFile(filepath.Join(s.root, "bin", "jmx-attach-"+runtime.GOARCH))
	if err != nil {
		return nil, err
	}
	const script = `cat >/tmp/e2e-helper && chmod 755 /tmp/e2e-helper && /tmp/e2e-helper status --pid "$1" -o json; rm -f /tmp/e2e-helper`
	stdout, stderr, err := execAs(ctx, c.config, bytes.NewReader(helper), namespace, pod, container, "sh", "-c", script, "status", strconv.Itoa(int(pid)))
	if err != nil {
		return nil, err
	}
	return markIn(pod, stdout, stderr)
}

// markIn is the agent's mark in what a helper in a pod has printed.
func markIn(pod, stdout, stderr string) (*helperapi.Mark, error) {
	var report helperapi.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		return nil, fmt.Errorf("%s: %w: %s %s", pod, err, stdout, stderr)
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return nil, fmt.Errorf("%s: the agent's mark is not there: %s", pod, stdout)
	}
	return report.Processes[0].Mark, nil
}
