package attachment

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// behind is a cache with one exporter and its record that never catches up with the
// operator's writes.
type behind struct{ client.Reader }

// List implements client.Reader.
func (behind) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !(&client.ListOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	switch l := list.(type) {
	case *v1alpha1.PrometheusJmxExporterList:
		l.Items = make([]v1alpha1.PrometheusJmxExporter, 1)
		l.Items[0].UID, l.Items[0].Spec.Config.ConfigMapName = "exporter", "rules"
	case *v1alpha1.JmxAttachmentList:
		l.Items = make([]v1alpha1.JmxAttachment, 3)
		for i, name := range []string{"record", "shop", "bank"} {
			a := &l.Items[i]
			a.Name, a.Spec.Pod.UID, a.Spec.Exporter.UID = name, types.UID(name), "another"
		}
		l.Items[0].Spec.Exporter.UID, l.Items[0].Spec.Revision = "exporter", "current"
		// It is in the middle of a change.
		l.Items[0].Status.Processes = []v1alpha1.JavaProcess{{Endpoint: &v1alpha1.Endpoint{}}}
	case *corev1.PodList:
		l.Items = make([]corev1.Pod, 2)
		for i, name := range []string{"shop", "bank"} {
			l.Items[i].UID, l.Items[i].Labels = types.UID(name), map[string]string{"app": name}
		}
	}
	return nil
}

// Event handlers do not wait for the operator's own writes: a handler has no deadline, and
// later events would wait, too.
func TestEventsDoNotWait(t *testing.T) {
	r := &Reconciler{Reader: cached.Reader{Reader: behind{}}}
	exporter, configMap := &v1alpha1.PrometheusJmxExporter{}, source.Metadata()
	exporter.UID = "exporter"
	configMap.Name = "rules"
	for name, of := range map[string]func() []reconcile.Request{
		"exporter":  func() []reconcile.Request { return r.ofExporter(t.Context(), nil, &exporter) },
		"ConfigMap": func() []reconcile.Request { return r.ofConfigMap(t.Context(), nil, &configMap) },
	} {
		if got := of(); len(got) != 1 || got[0].Name != "record" {
			t.Errorf("event of a %s: got requests %v, want one for the record", name, got)
		}
	}
}

// An exporter concerns its own records, and those of pods that it selects or did.
func TestOfExporter(t *testing.T) {
	r := &Reconciler{Reader: cached.Reader{Reader: behind{}}}
	selecting := func(generation int64, app v1alpha1.LabelValue) **v1alpha1.PrometheusJmxExporter {
		e := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{UID: "exporter", Generation: generation}}
		e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": app}
		return &e
	}
	halted := selecting(1, "shop")
	(*halted).Status.Halt = &v1alpha1.Halt{}
	both := func(message string) **v1alpha1.PrometheusJmxExporter {
		e := selecting(1, "shop")
		(*e).Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{}
		(*e).Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionConfigValid, Reason: v1alpha1.ReasonConfigInvalid, Message: message}}
		return e
	}
	becomes := func(reason string, security *v1alpha1.EndpointSecurity) **v1alpha1.PrometheusJmxExporter {
		e := selecting(1, "shop")
		(*e).Spec.EndpointSecurity = security
		(*e).Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionConfigValid, Reason: reason}}
		return e
	}
	pausedAt := func(revision string, paused bool) **v1alpha1.PrometheusJmxExporter {
		e := selecting(1, "shop")
		(*e).Status.Revision, (*e).Status.Restarts = revision, &v1alpha1.Restarts{Revision: revision, Paused: paused}
		return e
	}
	secured := &v1alpha1.EndpointSecurity{}
	for name, tc := range map[string]struct {
		before, after **v1alpha1.PrometheusJmxExporter
		want          []string
	}{
		"it is created":         {nil, selecting(1, "shop"), []string{"record", "shop"}},
		"it is deleted":         {selecting(1, "bank"), nil, []string{"record", "bank"}},
		"it selects other pods": {selecting(1, "shop"), selecting(2, "bank"), []string{"record", "shop", "bank"}},
		"it selects no pod":     {nil, selecting(1, "none"), []string{"record"}},
		"its rollout is halted": {selecting(1, "shop"), halted, []string{"record"}},
		"its Secret is created": {becomes(v1alpha1.ReasonSecretNotFound, secured), becomes(v1alpha1.ReasonValid, secured), []string{"record"}},
		"its Secret is created while its ConfigMap is invalid": {both("It is invalid. There is no Secret."), both("It is invalid."), []string{"record"}},
		"its ConfigMap changes":                                {becomes(v1alpha1.ReasonConfigInvalid, nil), becomes(v1alpha1.ReasonValid, nil), nil},
		"its rollout is paused":                                {pausedAt("current", false), pausedAt("current", true), nil},
		"its rollout is paused no more":                        {pausedAt("current", true), pausedAt("current", false), []string{"record"}},
		"the exits that paused its rollout are forgotten":      {pausedAt("current", true), selecting(1, "shop"), []string{"record"}},
		"another rollout is paused no more":                    {pausedAt("another", true), pausedAt("another", false), nil},
		"only its status changes":                              {selecting(1, "shop"), selecting(1, "shop"), nil},
	} {
		var got []string
		for _, request := range r.ofExporter(t.Context(), tc.before, tc.after) {
			got = append(got, request.Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
