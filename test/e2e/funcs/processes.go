package funcs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// JVMs are the Java processes of a namespace that an exporter serves, as a
// feature follows them: one is the same as long as it is in the same container
// with the same PID and start time.
type JVMs struct {
	namespace, exporter string
	known               []served
}

// served is a JVM that is served.
type served struct {
	pod      types.UID
	podName  string
	identity steps.ProcessIdentity
	where    string // the container's name
	port     int32
}

func (s served) String() string {
	return fmt.Sprintf("%s %s: process %d, started at %d, port %d", s.podName, s.where, s.identity.PID, s.identity.StartTime, s.port)
}

// JVMsOf are the JVMs that an exporter serves.
func JVMsOf(namespace, exporter string) *JVMs { return &JVMs{namespace: namespace, exporter: exporter} }

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
			page, err := c.get(ctx, j.namespace, s.podName, s.port, "/metrics")
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
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
			if page, err := c.get(ctx, j.namespace, was.podName, was.port, "/metrics"); err == nil || errors.Is(err, errNoWay) {
				t.Errorf("%s still answers, or cannot be asked: %v\n%s", was, err, page)
			}
			record, process := v1alpha1.JmxAttachment{}, v1alpha1.JavaProcess{Container: was.where, PID: was.identity.PID}
			record.Namespace, record.Spec.Pod.Name = j.namespace, was.podName
			mark, err := c.markBy(ctx, filepath.Join(s.root, "bin", "jmx-attach-"+runtime.GOARCH), record, process)
			if err != nil {
				t.Fatal(err)
			}
			if mark.State != attach.AgentStopped || mark.Loads != 1 {
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

// running are the Java processes that run in pods, as their nodes see them.
func (c *cluster) running(ctx context.Context, pods []corev1.Pod) (map[steps.ProcessIdentity]bool, error) {
	seen, err := c.look(ctx, pods)
	if err != nil {
		return nil, err
	}
	full := map[string]string{}
	for _, pod := range pods {
		for _, s := range pod.Status.ContainerStatuses {
			full[shortID(s.ContainerID)] = s.ContainerID
		}
	}
	running := map[steps.ProcessIdentity]bool{}
	for _, p := range seen.processes {
		if p.command != "java" {
			continue
		}
		start, err := strconv.ParseInt(p.start, 10, 64)
		if err != nil {
			return nil, err
		}
		running[steps.ProcessIdentity{ContainerID: full[p.container], PID: int32(p.pid), StartTime: start}] = true
	}
	return running, nil
}

// killProcess sends SIGKILL, from the node, to one process.
func (c *cluster) killProcess(ctx context.Context, namespace, pod string, identity steps.ProcessIdentity) error {
	var its corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, &its); err != nil {
		return err
	}
	seen, err := c.look(ctx, []corev1.Pod{its})
	if err != nil {
		return err
	}
	for _, p := range seen.processes {
		if p.container == shortID(identity.ContainerID) && p.pid == int(identity.PID) && p.start == strconv.FormatInt(identity.StartTime, 10) {
			_, err := c.observe(ctx, its.Spec.NodeName, "sh", "-c", `kill -9 "$1"`, "kill", strconv.Itoa(p.hostPID))
			return err
		}
	}
	return fmt.Errorf("pod %s has no process %+v: %+v", pod, identity, seen.processes)
}

// served are the JVMs that are served, and what is missing until these are
// exactly so many in so many pods, and everything says the same of them.
func (c *cluster) served(ctx context.Context, namespace, exporter string, pods, jvms int) ([]served, error) {
	var e v1alpha1.PrometheusJmxExporter
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
		return nil, err
	}
	if err := exporterReady(&e, pods, jvms); err != nil {
		return nil, err
	}
	there, err := c.pods(ctx, namespace, label)
	if err != nil {
		return nil, err
	}
	all, err := c.records(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if len(there) != pods || len(all) != pods {
		return nil, fmt.Errorf("%d pods and %d attachments are there, not %d", len(there), len(all), pods)
	}
	var found []served
	for i := range all {
		k := slices.IndexFunc(there, func(pod corev1.Pod) bool { return pod.UID == all[i].Spec.Pod.UID })
		if k < 0 {
			return nil, fmt.Errorf("the attachment %s is about a pod that is gone", all[i].Name)
		}
		its, err := servedIn(&there[k], &all[i], &e)
		if err != nil {
			return nil, err
		}
		found = append(found, its...)
	}
	if len(found) != jvms {
		return nil, fmt.Errorf("served are %v, not %d JVMs", found, jvms)
	}
	if err := c.nothingElse(ctx, &e, found); err != nil {
		return nil, err
	}
	running, err := c.running(ctx, there)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if !running[s.identity] {
			return nil, fmt.Errorf("%s does not run: %v", s, running)
		}
	}
	return found, nil
}

// servedIn are the JVMs of a pod that are served as its record says.
func servedIn(pod *corev1.Pod, r *v1alpha1.JmxAttachment, e *v1alpha1.PrometheusJmxExporter) ([]served, error) {
	switch {
	case r.Spec.Exporter.UID != e.UID || r.Spec.Pod.Name != pod.Name:
		return nil, fmt.Errorf("%s is not about pod %s for exporter %s: %+v", r.Name, pod.Name, e.UID, r.Spec)
	case r.Status.Phase != v1alpha1.PhaseAnnotated || r.Status.Reason != "" || !meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionReady):
		return nil, fmt.Errorf("%s: %s %s", pod.Name, r.Status.Phase, r.Status.Reason)
	}
	var found []served
	for _, p := range r.Status.Processes {
		if p.Refusal != "" {
			if p.Endpoint != nil {
				return nil, fmt.Errorf("%s: process %d of container %s is %s and has an endpoint", pod.Name, p.PID, p.Container, p.Refusal)
			}
			continue
		}
		s := served{pod: pod.UID, podName: pod.Name, where: p.Container, identity: steps.Identity(&p), port: p.Port}
		switch {
		case p.Port == 0 || p.Endpoint == nil || p.Endpoint.Port != p.Port || p.Endpoint.Address != pod.Status.PodIP:
			return nil, fmt.Errorf("%s has the endpoint %+v in pod %s", s, p.Endpoint, pod.Status.PodIP)
		case p.Endpoint.CheckedFrom != v1alpha1.CheckedFromOperator:
			return nil, fmt.Errorf("%s was not asked over HTTP: %+v", s, p.Endpoint)
		case p.Intent == nil || p.Intent.Time.Before(&pod.CreationTimestamp):
			return nil, fmt.Errorf("%s: its load %+v was begun before the pod was there", s, p.Intent)
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no JVM is served: %+v", pod.Name, r.Status.Processes)
	}
	for name, value := range map[string]string{
		steps.AnnotationScrape: "true", steps.AnnotationPort: strconv.Itoa(int(found[0].port)),
		steps.AnnotationPath: steps.MetricsPath, steps.AnnotationFlag: r.Name,
	} {
		if pod.Annotations[name] != value {
			return nil, fmt.Errorf("pod %s has %s=%q, not %q", pod.Name, name, pod.Annotations[name], value)
		}
	}
	return found, nil
}

// nothingElse tells whether metricsEndpoints and EndpointSlices name these JVMs
// and no other.
func (c *cluster) nothingElse(ctx context.Context, e *v1alpha1.PrometheusJmxExporter, found []served) error {
	status, inSlices := map[v1alpha1.MetricsEndpoint]int{}, map[string]int{}
	for _, s := range found {
		status[v1alpha1.MetricsEndpoint{Pod: s.podName, Container: s.where, Port: s.port}]++
		inSlices[listing(s.pod, s.port)]++
	}
	have := map[v1alpha1.MetricsEndpoint]int{}
	for _, endpoint := range e.Status.MetricsEndpoints {
		have[endpoint]++
	}
	if !maps.Equal(have, status) {
		return fmt.Errorf("metricsEndpoints are %v, not %v", e.Status.MetricsEndpoints, found)
	}
	listed, err := c.listed(ctx, e.Namespace, e.Name)
	if err != nil {
		return err
	}
	if !maps.Equal(listed, inSlices) {
		return fmt.Errorf("the EndpointSlices hold %v, not %v", listed, inSlices)
	}
	return nil
}

func listing(pod types.UID, port int32) string { return fmt.Sprintf("%s:%d", pod, port) }

// listed are the endpoints in the exporter's EndpointSlices, and how often they
// stand there.
func (c *cluster) listed(ctx context.Context, namespace, exporter string) (map[string]int, error) {
	var e v1alpha1.PrometheusJmxExporter
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exporter}, &e); err != nil {
		return nil, err
	}
	var list discoveryv1.EndpointSliceList
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: e.Status.ServiceName}); err != nil {
		return nil, err
	}
	listed := map[string]int{}
	for _, slice := range list.Items {
		if len(slice.Ports) != 1 || *slice.Ports[0].Name != "metrics" {
			return nil, fmt.Errorf("EndpointSlice %s has other ports than one called metrics: %+v", slice.Name, slice.Ports)
		}
		for _, endpoint := range slice.Endpoints {
			listed[listing(endpoint.TargetRef.UID, *slice.Ports[0].Port)]++
		}
	}
	return listed, nil
}

// OperatorSays waits for a line in the operator's log about a record of the
// namespace.
func OperatorSays(namespace, message string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error {
			operator, err := c.operator(ctx)
			if err != nil {
				return err
			}
			log, err := c.log(ctx, operator, "manager")
			if err != nil {
				return err
			}
			for line := range strings.Lines(log) {
				if strings.Contains(line, strconv.Quote(message)) && strings.Contains(line, strconv.Quote(namespace)) {
					return nil
				}
			}
			return fmt.Errorf("the operator has not said %q of a pod in %s", message, namespace)
		})
	})
}
