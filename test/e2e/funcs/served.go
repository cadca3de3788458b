package funcs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// served is a JVM that is served.
type served struct {
	pod      types.UID
	podName  string
	identity record.ProcessIdentity
	where    string // the container's name
	port     int32
	// checkedFrom is where its endpoint was asked from.
	checkedFrom v1alpha1.CheckedFrom
}

func (s served) String() string {
	return fmt.Sprintf("%s %s: process %d, started at %d, port %d", s.podName, s.where, s.identity.PID, s.identity.StartTime, s.port)
}

// served are the JVMs that are served, and what is missing until these are
// exactly so many in so many pods, and everything says the same of them.
func (c *cluster) served(ctx context.Context, namespace, exporter string, pods, jvms int) ([]served, error) {
	e, err := c.exporter(ctx, namespace, exporter)
	if err != nil {
		return nil, err
	}
	if err := exporterReady(e, pods, jvms); err != nil {
		return nil, err
	}
	there, err := c.pods(ctx, namespace, label)
	if err != nil {
		return nil, err
	}
	all, err := c.attachments(ctx, namespace)
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
		its, err := servedIn(&there[k], &all[i], e)
		if err != nil {
			return nil, err
		}
		found = append(found, its...)
	}
	if len(found) != jvms {
		return nil, fmt.Errorf("served are %v, not %d JVMs", found, jvms)
	}
	if err := c.nothingElse(ctx, e, found); err != nil {
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
		if p.Excluded || record.Refused(&p) {
			if p.Endpoint != nil {
				return nil, fmt.Errorf("%s: process %d of container %s is excluded or refused (%s) and has an endpoint", pod.Name, p.PID, p.Container, p.Reason)
			}
			continue
		}
		s := served{pod: pod.UID, podName: pod.Name, where: p.Container, identity: record.Identity(&p), port: p.Port}
		switch {
		case p.Port == 0 || p.Endpoint == nil || p.Endpoint.Port != p.Port || p.Endpoint.Address != pod.Status.PodIP:
			return nil, fmt.Errorf("%s has the endpoint %+v in pod %s", s, p.Endpoint, pod.Status.PodIP)
		case p.Intent == nil || p.Intent.Time.Before(&pod.CreationTimestamp):
			return nil, fmt.Errorf("%s: its load %+v was begun before the pod was there", s, p.Intent)
		}
		s.checkedFrom = p.Endpoint.CheckedFrom
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no JVM is served: %+v", pod.Name, r.Status.Processes)
	}
	return found, scrapedOn(pod, r, found[0].port)
}

// nothingElse reports whether metricsEndpoints and EndpointSlices name these JVMs
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
