package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// label is that of all applications of the features.
const label = "app=dummyapp"

// Applications remembers how applications were before anything was done, to
// tell later that they were left in peace.
type Applications struct {
	namespace string
	pods      map[types.UID]application
}

type application struct {
	pod  corev1.Pod
	jvms []process
	// logs by container name.
	logs map[string]string
	left map[string]map[string]bool
}

// ApplicationsIn are the applications of a namespace.
func ApplicationsIn(namespace string) *Applications { return &Applications{namespace: namespace} }

// Running waits until so many pods run with all their containers, and those
// that start Java say in their log that the application is ready: so many JVMs.
func Running(namespace string, pods, jvms int) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		found, err := c.pods(ctx, namespace, label)
		if err != nil {
			return err
		}
		if len(found) != pods {
			return fmt.Errorf("%d pods are there, not %d", len(found), pods)
		}
		ready := 0
		for _, pod := range found {
			statuses := lasting(&pod)
			for _, status := range statuses {
				if status.State.Running == nil {
					return fmt.Errorf("container %s of pod %s does not run: %+v", status.Name, pod.Name, status.State)
				}
				log, err := c.log(ctx, &pod, status.Name)
				if err != nil {
					return err
				}
				ready += strings.Count(log, "dummyapp is ready")
			}
			if len(statuses) < len(pod.Spec.Containers) {
				return fmt.Errorf("pod %s has not started: %s", pod.Name, pod.Status.Phase)
			}
		}
		if ready != jvms {
			return fmt.Errorf("%d applications are ready, not %d", ready, jvms)
		}
		return nil
	})
}

// Remember remembers the applications as they are now, once no helper runs in them.
func (a *Applications) Remember() features.Func {
	return until(func(ctx context.Context, c *cluster) (err error) {
		a.pods, err = a.now(ctx, c)
		return err
	})
}

func (a *Applications) now(ctx context.Context, c *cluster) (map[types.UID]application, error) {
	pods, err := c.pods(ctx, a.namespace, label)
	if err != nil {
		return nil, err
	}
	seen, err := c.look(ctx, pods)
	if err != nil {
		return nil, err
	}
	now := map[types.UID]application{}
	for _, pod := range pods {
		app := application{pod: pod, logs: map[string]string{}, left: map[string]map[string]bool{}}
		for _, status := range lasting(&pod) {
			if app.logs[status.Name], err = c.log(ctx, &pod, status.Name); err != nil {
				return nil, err
			}
			app.left[status.Name] = seen.left[shortID(status.ContainerID)]
			for _, p := range seen.processes {
				if p.container != shortID(status.ContainerID) {
					continue
				}
				if strings.HasPrefix(p.command, "jmx-attach") {
					return nil, fmt.Errorf("a helper runs in container %s of pod %s", status.Name, pod.Name)
				}
				if p.command == "java" {
					app.jvms = append(app.jvms, p)
				}
			}
		}
		now[pod.UID] = app
	}
	return now, nil
}

// jep451 are the lines that a JVM of version 21 or later prints when an agent is
// loaded while it runs.
var jep451 = []string{
	"WARNING: A Java agent has been loaded dynamically (/tmp/.jmx-exporter/agent-",
	"WARNING: If a serviceability tool is in use, please run with -XX:+EnableDynamicAgentLoading to hide this warning",
	"WARNING: If a serviceability tool is not in use, please run with -Djdk.instrument.traceUsage for more information",
	"WARNING: Dynamic loading of agents will be disallowed by default in a future release",
}

// Untouched asserts that the applications are as they were when they were
// remembered: the same pods and containers, not restarted, the same JVMs, and
// nothing more on their output. No helper is left in them, and no file outside
// of our directory but HotSpot's own socket.
func (a *Applications) Untouched() features.Func { return a.compare(nil) }

// UntouchedButWarned is Untouched, but those whose image has this name have
// printed the four lines of JEP 451, once.
func (a *Applications) UntouchedButWarned(image string) features.Func {
	return a.compare(func(c corev1.Container) []string {
		if c.Image == image {
			return jep451
		}
		return nil
	})
}

// mostLooks is how often applications are looked at: a log takes a moment to
// arrive, and what a helper is about to remove to go. What is wrong for good stays
// wrong.
const mostLooks = 20

// compare looks once no helper runs.
func (a *Applications) compare(more func(corev1.Container) []string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if len(a.pods) == 0 {
			t.Fatal("no applications were remembered")
		}
		looks := 0
		eventually(ctx, t, func(ctx context.Context) error {
			now, err := a.now(ctx, c)
			if err != nil {
				return err
			}
			err = a.same(now, more)
			if looks++; err != nil && looks == mostLooks {
				t.Fatal(err)
			}
			return err
		})
	})
}

func (a *Applications) same(now map[types.UID]application, more func(corev1.Container) []string) error {
	for uid, before := range a.pods {
		after, ok := now[uid]
		if !ok {
			return fmt.Errorf("pod %s is gone", before.pod.Name)
		}
		if err := before.same(after, more); err != nil {
			return fmt.Errorf("pod %s: %w", before.pod.Name, err)
		}
	}
	return nil
}

func (before application) same(after application, more func(corev1.Container) []string) error {
	now := lasting(&after.pod)
	for _, was := range lasting(&before.pod) {
		i := slices.IndexFunc(now, func(s corev1.ContainerStatus) bool { return s.Name == was.Name })
		if i < 0 {
			return fmt.Errorf("nothing is said of container %s", was.Name)
		}
		is := now[i]
		if is.ContainerID != was.ContainerID || is.RestartCount != was.RestartCount {
			return fmt.Errorf("container %s was restarted: %+v", is.Name, is.LastTerminationState)
		}
	}
	if !slices.Equal(before.jvms, after.jvms) {
		return fmt.Errorf("other JVMs run: %+v, not %+v", after.jvms, before.jvms)
	}
	for _, container := range slices.Concat(before.pod.Spec.Containers, before.pod.Spec.InitContainers) {
		var expected []string
		if more != nil {
			expected = more(container)
		}
		if err := printed(before.logs[container.Name], after.logs[container.Name], expected); err != nil {
			return fmt.Errorf("container %s: %w", container.Name, err)
		}
		for name := range after.left[container.Name] {
			if !before.left[container.Name][name] && name != ".jmx-exporter" && !strings.HasPrefix(name, ".java_pid") {
				return fmt.Errorf("container %s: %s is left outside of our directory", container.Name, name)
			}
		}
	}
	return nil
}

// printed reports whether lines with these beginnings, and no others, were printed since.
func printed(before, after string, expected []string) error {
	since, ok := strings.CutPrefix(after, before)
	lines := strings.FieldsFunc(since, func(r rune) bool { return r == '\n' })
	if !ok || len(lines) != len(expected) {
		return fmt.Errorf("printed %q, not %q", since, expected)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, expected[i]) {
			return fmt.Errorf("printed %q, not %q", line, expected[i])
		}
	}
	return nil
}
