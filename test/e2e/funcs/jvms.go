package funcs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// JVMs are the Java processes of a namespace that an exporter serves, as a
// feature follows them: one is the same as long as it is in the same container
// with the same PID and start time.
type JVMs struct {
	namespace, exporter string
	checkedFrom         v1alpha1.CheckedFrom
	known               []served
}

// JVMsOf are the JVMs that an exporter serves.
func JVMsOf(namespace, exporter string) *JVMs {
	return &JVMs{namespace: namespace, exporter: exporter, checkedFrom: v1alpha1.CheckedFromOperator}
}

// JVMsBehindFilter are the JVMs that an exporter serves in pods into which the
// operator has no way over the network.
func JVMsBehindFilter(namespace, exporter string) *JVMs {
	return &JVMs{namespace: namespace, exporter: exporter, checkedFrom: v1alpha1.CheckedFromPod}
}

// Served waits until exactly so many JVMs in exactly so many pods are served, and
// everything names them and nothing else: the records, the pods' annotations, the
// exporter's metricsEndpoints and the EndpointSlices. It remembers them.
func (j *JVMs) Served(pods, jvms int) features.Func {
	return j.eventually(pods, jvms, func([]served) error { return nil })
}

// ServedInNewPods is Served, in pods that were not there when it was asked before.
func (j *JVMs) ServedInNewPods(pods, jvms int) features.Func {
	return j.eventually(pods, jvms, func(now []served) error {
		return j.none(now, func(a, b served) bool { return a.pod == b.pod })
	})
}

// ServedAnew is Served, by other JVMs in the same containers.
func (j *JVMs) ServedAnew(pods, jvms int) features.Func {
	return j.eventually(pods, jvms, func(now []served) error {
		for _, is := range now {
			if !slices.ContainsFunc(j.known, func(was served) bool { return is.identity.ContainerID == was.identity.ContainerID }) {
				return fmt.Errorf("%s is in another container", is)
			}
		}
		return j.none(now, func(a, b served) bool { return a.identity == b.identity })
	})
}

// StillServed is Served, by the JVMs and on the ports that were remembered.
func (j *JVMs) StillServed(pods, jvms int) features.Func {
	return j.eventually(pods, jvms, j.asBefore)
}

func (j *JVMs) asBefore(now []served) error {
	for _, is := range now {
		if !slices.Contains(j.known, is) {
			return fmt.Errorf("%s was not there before, but %v", is, j.known)
		}
	}
	return nil
}

func (j *JVMs) none(now []served, same func(was, is served) bool) error {
	for _, is := range now {
		if i := slices.IndexFunc(j.known, func(was served) bool { return same(was, is) }); i >= 0 {
			return fmt.Errorf("%s is there as before", j.known[i])
		}
	}
	return nil
}

func (j *JVMs) eventually(pods, jvms int, further func(now []served) error) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		j.wait(ctx, t, c, pods, jvms, further)
	})
}

func (j *JVMs) wait(ctx context.Context, t *testing.T, c *cluster, pods, jvms int, further func(now []served) error) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		now, err := c.served(ctx, j.namespace, j.exporter, pods, jvms)
		if err != nil {
			return err
		}
		for _, s := range now {
			if s.checkedFrom != j.checkedFrom {
				return fmt.Errorf("%s was checked from the %s, not the %s", s, s.checkedFrom, j.checkedFrom)
			}
		}
		if err := further(now); err != nil {
			return err
		}
		j.known = now
		return nil
	})
}

// On asserts which ports the JVMs of containers serve, by the containers' names,
// in ascending order; those of containers named besides may be any.
func (j *JVMs) On(want map[string][]int32, others ...string) features.Func {
	return verb(func(_ context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		have := map[string][]int32{}
		for _, s := range j.known {
			if !slices.Contains(others, s.where) {
				have[s.where] = append(have[s.where], s.port)
			}
		}
		for _, ports := range have {
			slices.Sort(ports)
		}
		if !maps.EqualFunc(have, want, slices.Equal[[]int32]) {
			t.Fatalf("the ports are %v, not %v", have, want)
		}
	})
}

// Apart asserts that so many JVMs of containers with this name are served on
// ports that were chosen, and no two on the same.
func (j *JVMs) Apart(container string, jvms int) features.Func {
	return verb(func(_ context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		ports := map[int32]bool{}
		for _, s := range j.known {
			if s.where != container {
				continue
			}
			if ports[s.port] || s.port < helperapi.FirstPort {
				t.Errorf("port %d is another's, too, or not one to be chosen: %v", s.port, j.known)
			}
			ports[s.port] = true
		}
		if len(ports) != jvms {
			t.Errorf("%d ports are served, not %d: %v", len(ports), jvms, j.known)
		}
		t.Log(j.known)
	})
}

// Answer asserts that the JVMs of a container answer with these words, each on
// the port on record, so many of them with these further words.
func (j *JVMs) Answer(container string, word string, some int, further string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		with := 0
		for _, s := range j.known {
			if s.where != container {
				continue
			}
			page := answer(ctx, t, func(ctx context.Context) (string, error) {
				return c.get(ctx, j.namespace, s.podName, s.port, "/metrics")
			})
			if !strings.Contains(page, word) {
				t.Errorf("%s does not serve %s:\n%s", s, word, page)
			}
			if strings.Contains(page, further) {
				with++
			}
		}
		if with != some {
			t.Errorf("%d JVMs of container %s serve %s, not %d", with, container, further, some)
		}
	})
}

// Released waits until exactly so many JVMs are served still, as before. Those
// that were served before and are not now say that their agent was stopped, and
// nobody answers on their ports.
func (s *Suite) Released(j *JVMs, pods, jvms int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before := j.known
		j.wait(ctx, t, c, pods, jvms, j.asBefore)
		for _, was := range before {
			if slices.Contains(j.known, was) {
				continue
			}
			c.closed(ctx, t, j.namespace, was.podName, was.port)
			mark := answer(ctx, t, func(ctx context.Context) (*helperapi.Mark, error) {
				return s.mark(ctx, c, j.namespace, was.podName, was.where, was.identity.PID)
			})
			if mark.State != helperapi.AgentStopped || mark.Loads != 1 {
				t.Errorf("%s: %+v; want the agent stopped, and one load", was, mark)
			}
		}
	})
}

// End ends the one JVM of a container that is not its first process, so that the
// container runs on.
func (j *JVMs) End(container string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		j.end(ctx, t, c, container)
	})
}

func (j *JVMs) end(ctx context.Context, t *testing.T, c *cluster, container string) served {
	t.Helper()
	i := slices.IndexFunc(j.known, func(s served) bool { return s.where == container && s.identity.PID != 1 })
	if i < 0 {
		t.Fatalf("no JVM of container %s is not its first process: %v", container, j.known)
	}
	if err := c.killProcess(ctx, j.namespace, j.known[i].podName, j.known[i].identity); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed: %s", j.known[i])
	return j.known[i]
}

// EndBesideOthers is End, and waits until exactly the others are served. Their
// endpoints stand in the EndpointSlices all the while.
func (j *JVMs) EndBesideOthers(container string, pods int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		ended := j.end(ctx, t, c, container)
		others := slices.DeleteFunc(slices.Clone(j.known), func(s served) bool { return s == ended })
		var gap error
		eventually(ctx, t, func(ctx context.Context) error {
			listed, err := c.listed(ctx, j.namespace, j.exporter)
			if err != nil {
				return err
			}
			for _, s := range others {
				if listed[listing(s.pod, s.port)] != 1 {
					gap = fmt.Errorf("%s stood in no EndpointSlice for a time: %v", s, listed)
				}
			}
			now, err := c.served(ctx, j.namespace, j.exporter, pods, len(others))
			if err != nil {
				return err
			}
			if !slices.Equal(now, others) {
				return fmt.Errorf("served are %v, not %v", now, others)
			}
			j.known = now
			return nil
		})
		if gap != nil {
			t.Error(gap)
		}
	})
}
