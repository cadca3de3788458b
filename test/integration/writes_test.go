package integration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Every kind of event, and all of its effects: each change is written once, and nothing
// else is written. Afterwards, the operator is idle however much time
// passes.
func TestWrites(t *testing.T) {
	t.Parallel()
	const (
		record    = "apply attachment-status"
		sums      = "apply exporter-status"
		endpoints = "apply endpoints"
		annotate  = "apply pod-annotations"
		grant     = "apply attachment"
		keep      = "apply revisions"
		drop      = "delete ControllerRevision"
	)
	cases := map[string]struct {
		event func(*story)
		want  []string
	}{
		"there is no event": {event: func(*story) {}},
		"an unselected label is added": {event: func(s *story) {
			change(s.t, s.pod, func(pod *corev1.Pod) { pod.Labels["version"] = "2" })
		}},
		"a foreign annotation is added": {event: func(s *story) {
			change(s.t, s.pod, func(pod *corev1.Pod) { pod.Annotations["example.com/x"] = "y" })
		}},
		"a label of the exporter is added": {event: func(s *story) {
			change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Labels = map[string]string{"a": "b"} })
		}},
		"a label of the ConfigMap is added": {event: func(s *story) {
			change(s.t, &corev1.ConfigMap{ObjectMeta: s.named("rules")}, func(c *corev1.ConfigMap) { c.Labels = map[string]string{"a": "b"} })
		}},
		"another key of the ConfigMap is added": {event: func(s *story) {
			change(s.t, &corev1.ConfigMap{ObjectMeta: s.named("rules")}, func(c *corev1.ConfigMap) { c.Data["other"] = "x" })
		}},
		"an endpoint in an EndpointSlice is edited": {
			event: func(s *story) {
				change(s.t, &s.slices(s.exporter)[0], func(slice *discoveryv1.EndpointSlice) { slice.Endpoints[0].Zone = new("a") })
			},
			want: []string{endpoints},
		},
		"the pod becomes not ready": {
			event: func(s *story) {
				s.changeStatus(s.pod, func(status *corev1.PodStatus) { status.Conditions[0].Status = corev1.ConditionFalse })
			},
			want: []string{endpoints},
		},
		"the annotation is removed": {
			event: func(s *story) { change(s.t, s.pod, func(pod *corev1.Pod) { pod.Annotations = nil }) },
			want:  []string{annotate, record},
		},
		"the EndpointSlice is deleted": {
			event: func(s *story) { remove(s.t, &s.slices(s.exporter)[0]) },
			want:  []string{endpoints},
		},
		"the Service is deleted": {
			event: func(s *story) {
				get(s.t, s.exporter)
				remove(s.t, &corev1.Service{ObjectMeta: s.named(s.exporter.Status.ServiceName)})
			},
			want: []string{endpoints},
		},
		"the JmxAttachment is deleted": {
			event: func(s *story) { remove(s.t, s.attachment(s.pod)) },
			// The endpoint is kept, so it is not probed again.
			want: []string{
				grant, sums,
				"exec inspect", record,
				grant, sums, // its slot
				"exec inspect", record, "exec load", record,
				sums,
			},
		},
		"the configuration changes": {
			event: func(s *story) { s.configure("lowercaseOutputName: true\n" + rules) },
			want: []string{
				keep, grant, sums, // the new revision, and the pod's slot
				"exec inspect", "exec stage", record, "exec load", record,
				drop, sums, // the previous revision, and the updated count
			},
		},
		"the configuration becomes invalid": {
			event: func(s *story) { s.configure("rules: {") },
			want:  []string{sums},
		},
		"the port changes": {
			event: func(s *story) {
				change(s.t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
			},
			want: []string{
				endpoints, keep, grant, sums, // the Service
				record, "exec load", "http probe", record,
				"delete EndpointSlice", endpoints, drop, sums,
				annotate, record, sums,
			},
		},
		"the container is replaced": {
			event: func(s *story) { s.restart(s.pod) },
			want: []string{
				annotate, record, // removed
				"exec inspect", "exec stage", record, "exec load", "http probe",
				annotate, record,
			},
		},
		"the pod is deleted": {
			event: func(s *story) {
				remove(s.t, s.pod)
				s.garbageCollect()
			},
			want: []string{"delete EndpointSlice", sums},
		},
		"the label is removed": {
			event: func(s *story) { change(s.t, s.pod, func(pod *corev1.Pod) { pod.Labels = nil }) },
			want:  []string{"delete EndpointSlice", sums, annotate, record, "exec unload", record, "delete JmxAttachment"},
		},
		"the exporter is deleted": {
			event: func(s *story) {
				remove(s.t, s.exporter)
				s.garbageCollect()
			},
			want: []string{annotate, record, "exec unload", record, "delete JmxAttachment"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			tc.event(s)
			o.settle()
			if diff := cmp.Diff(tc.want, shortened(o.did())); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			before := s.resourceVersions()
			for range 3 {
				s.later(24 * time.Hour)
				o.settle()
			}
			if idle := o.did(); len(idle) > 0 {
				t.Errorf("effects without an event: got %q, want none", idle)
			}
			if diff := cmp.Diff(before, s.resourceVersions()); diff != "" {
				t.Errorf("resourceVersions changed without an event:\n%s", diff)
			}
		})
	}
}

// shortened returns effects without the field managers' prefix.
func shortened(did []string) []string {
	var short []string
	for _, effect := range did {
		short = append(short, strings.ReplaceAll(effect, "jmx-exporter-operator/", ""))
	}
	return short
}
