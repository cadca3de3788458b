package attachment

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// holding is a reader of one pod and of exporters, which records its reads.
type holding struct {
	client.Reader
	pod       *corev1.Pod
	exporters []v1alpha1.PrometheusJmxExporter
	read      []string
}

// Get implements client.Reader.
func (h *holding) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	h.read = append(h.read, fmt.Sprintf("get %T", object))
	switch o := object.(type) {
	case *corev1.Pod:
		if h.pod != nil {
			h.pod.DeepCopyInto(o)
			return nil
		}
	case *v1alpha1.PrometheusJmxExporter:
		for _, e := range h.exporters {
			if e.Name == key.Name {
				*o = e
				return nil
			}
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// List implements client.Reader.
func (h *holding) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	h.read = append(h.read, fmt.Sprintf("list %T", list))
	switch l := list.(type) {
	case *v1alpha1.PrometheusJmxExporterList:
		l.Items = append(l.Items, h.exporters...)
	case *discoveryv1.EndpointSliceList:
	}
	return nil
}

// deleting is an API server that also accepts deletes.
type deleting struct {
	accepting
	deletes int
}

// GroupVersionKindFor implements client.Client.
func (*deleting) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return schema.GroupVersionKind{}, nil
}

// Delete implements client.Client.
func (d *deleting) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	d.deletes++
	return nil
}

// The live reads of a detach: the pod and the recorded exporter, once before the first
// effect, and never a list of all exporters.
func TestDetachConfirms(t *testing.T) {
	exporter := func(name, uid string) v1alpha1.PrometheusJmxExporter {
		e := v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
		e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": "dummyapp"}
		return e
	}
	both := []string{"get *v1.Pod", "get *v1alpha1.PrometheusJmxExporter"}
	for name, tc := range map[string]struct {
		cached, live []v1alpha1.PrometheusJmxExporter
		begun        bool
		podGone      bool
		orphan       bool
		read         []string
		deletes      int
		err          string
	}{
		"the exporter is gone":                                    {read: both, deletes: 1},
		"the exporter is gone, and the detach has begun":          {begun: true, deletes: 1},
		"the exporter and the pod are gone":                       {podGone: true, read: both[:1], deletes: 1},
		"the record has no exporter":                              {orphan: true, read: both[:1], deletes: 1},
		"the cache is stale":                                      {live: []v1alpha1.PrometheusJmxExporter{exporter("exporter", "1")}, read: both, err: "stale cache"},
		"the exporter was recreated":                              {live: []v1alpha1.PrometheusJmxExporter{exporter("exporter", "2")}, read: both},
		"another exporter owns the pod":                           {cached: []v1alpha1.PrometheusJmxExporter{exporter("heir", "3")}},
		"another exporter owns the pod, and the detach has begun": {begun: true, cached: []v1alpha1.PrometheusJmxExporter{exporter("heir", "3")}},
	} {
		b, s := aBench(), aSituation()
		s.Pod.Name, s.Pod.UID, s.Pod.Labels = "app-0", "pod", map[string]string{"app": "dummyapp"}
		s.Pod.Status.Phase = corev1.PodRunning
		a := s.Attachment
		a.Name, a.Spec.Pod.Name, a.Spec.Pod.UID = selection.AttachmentName(s.Pod), "app-0", "pod"
		a.Spec.Exporter.Name, a.Spec.Exporter.UID = "exporter", "1"
		a.Status.Processes = nil
		a.Status.Containers = []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "containerd://1", Time: new(s.Now)}}
		if tc.begun {
			a.Status.DetachStartTime, a.Status.DetachTimeout.Duration = new(s.Now), time.Minute
		}
		cached, live, api := &holding{pod: s.Pod, exporters: tc.cached}, &holding{pod: s.Pod, exporters: tc.live}, &deleting{}
		if tc.podGone {
			live.pod = nil
		}
		if tc.orphan {
			a.Spec.Exporter = v1alpha1.ObjectIdentity{}
		}
		b.Reader, b.Live, b.Writer = cached, live, records.New(apply.New(api, effects.Direct))
		v, err := b.observeDetaching(t.Context(), a, closing{b.helper})
		if v != nil {
			_, err = v.reconcile(t.Context())
		}
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.err)
		}
		if diff := cmp.Diff(tc.read, live.read); diff != "" {
			t.Errorf("%s: live reads (-want +got):\n%s", name, diff)
		}
		if api.deletes != tc.deletes || api.writes > 0 {
			t.Errorf("%s: got %d deletes and %d other writes", name, api.deletes, api.writes)
		}
	}
}
