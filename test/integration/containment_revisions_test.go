package integration

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// keeps creates a ControllerRevision like the operator's, with a change.
func (t *target) keeps(what string, how func(*appsv1.ControllerRevision)) attempt {
	return attempt{what, func() error {
		r := t.revision().DeepCopy()
		r.ObjectMeta = metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name + "1", Labels: maps.Clone(r.Labels), OwnerReferences: r.OwnerReferences}
		how(r)
		return t.client.Create(t.t.Context(), r, client.DryRunAll)
	}}
}

// revision returns the ControllerRevision that the operator wrote.
func (t *target) revision() *appsv1.ControllerRevision {
	t.t.Helper()
	var list appsv1.ControllerRevisionList
	t.list(&list, client.HasLabels{v1alpha1.LabelExporterUID})
	return &list.Items[0]
}

// template is the ControllerRevision of a StatefulSet, which makes pods of it.
func (t *target) template() *appsv1.ControllerRevision {
	t.t.Helper()
	r := &appsv1.ControllerRevision{
		ObjectMeta: t.named("db-1"), Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)},
	}
	r.Labels = map[string]string{"app": "db"}
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: new(true)}}
	return r
}

// templates are attacks on the pods that StatefulSets and DaemonSets make, by the templates
// in their ControllerRevisions.
func (t *target) templates() []attempt {
	of := create(t.t, t.template())
	return []attempt{
		{"the ControllerRevision of a StatefulSet is deleted", func() error { return t.client.Delete(t.t.Context(), of.DeepCopy(), client.DryRunAll) }},
		{"the ControllerRevision of a StatefulSet is changed", func() error {
			return patches(t, t.client, of.DeepCopy(), func(r *appsv1.ControllerRevision) { r.Revision++ })
		}},
		{"the ControllerRevision of a StatefulSet becomes the operator's", func() error {
			return patches(t, t.client, of.DeepCopy(), func(r *appsv1.ControllerRevision) {
				r.Labels, r.OwnerReferences = t.revision().Labels, t.revision().OwnerReferences
			})
		}},
		t.keeps("a ControllerRevision of a StatefulSet is created", func(r *appsv1.ControllerRevision) {
			r.Labels, r.OwnerReferences, r.Data = of.Labels, of.OwnerReferences, of.Data
		}),
		t.keeps("a ControllerRevision with a pod template is created", func(r *appsv1.ControllerRevision) { r.Data = of.Data }),
		t.keeps("a ControllerRevision with a configuration and a pod template is created", func(r *appsv1.ControllerRevision) {
			r.Data.Raw = []byte(`{"configuration":"cnVsZXM6IFtdCg==","spec":{"template":{}}}`)
		}),
		t.keeps("a ControllerRevision with another type of configuration is created", func(r *appsv1.ControllerRevision) {
			r.Data.Raw = []byte(`{"configuration":{"template":{}}}`)
		}),
		t.keeps("a ControllerRevision without data is created", func(r *appsv1.ControllerRevision) { r.Data.Raw = []byte(`{}`) }),
		t.keeps("a ControllerRevision that a StatefulSet adopts is created", func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil }),
		t.keeps("a ControllerRevision with foreign labels is created", func(r *appsv1.ControllerRevision) { r.Labels["app"] = "db" }),
		t.keeps("a ControllerRevision with foreign annotations is created", func(r *appsv1.ControllerRevision) { r.Annotations = others }),
		t.keeps("a ControllerRevision that blocks the deletion of its namespace is created", func(r *appsv1.ControllerRevision) { r.Finalizers = never }),
	}
}

// configurations are what the operator does with its own ControllerRevisions.
func (t *target) configurations() []attempt {
	return []attempt{
		t.keeps("a ControllerRevision is created", func(*appsv1.ControllerRevision) {}),
		{"a ControllerRevision is deleted", func() error { return t.client.Delete(t.t.Context(), t.revision(), client.DryRunAll) }},
	}
}
