package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// A ControllerRevision that cannot be deleted concerns nothing that is served: the exporter says so
// with a reason of its own, keeps the configurations that follow, and tries again later.
func TestUndeletableRevision(t *testing.T) {
	t.Parallel()
	const finalizer = "example.com/backup"
	for name, tc := range map[string]struct {
		finalizers []string
		refused    error
		why        string
	}{
		"RBAC":              {refused: apierrors.NewForbidden(appsv1.Resource("controllerrevisions"), "exporter", errors.New("no delete")), why: "cannot be deleted: no delete"},
		"foreign finalizer": {finalizers: []string{finalizer}, why: "is not removed: remove the finalizers (" + finalizer + ") that keep it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := annotated(t)
			var list appsv1.ControllerRevisionList
			s.list(&list)
			unused := &list.Items[0]
			change(t, unused, func(r *appsv1.ControllerRevision) { r.Finalizers = tc.finalizers })
			refuses, tries := true, 0
			o.fate = func(_ int, effect effects.Effect, do func() error) error {
				if described(effect) != "delete ControllerRevision" {
					return do()
				}
				if tries++; refuses && tc.refused != nil {
					return tc.refused
				}
				return do()
			}
			s.configure(changed)
			o.settle()
			s.isAnnotated("9400")
			says := func(what string) bool {
				get(t, s.exporter)
				valid := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
				return valid.Status == metav1.ConditionTrue && strings.Contains(valid.Message, what)
			}
			if !says("Unused ControllerRevision "+unused.Name) || !says(tc.why) {
				t.Errorf("conditions: got %+v, want ConfigValid to say that %s %s", s.exporter.Status.Conditions, unused.Name, tc.why)
			}
			s.configure(changed + "lowercaseOutputName: true\n")
			o.settle()
			s.isAnnotated("9400")
			if s.list(&list); !keepsCurrent(t, s.exporter, list.Items) {
				t.Errorf("the configuration that follows, %s, is not in one of %d ControllerRevisions", s.exporter.Status.Revision, len(list.Items))
			}
			if events := o.events.with(v1alpha1.ReasonRevisionsNotDeleted); len(events) != 1 || events[0].Type != corev1.EventTypeWarning {
				t.Errorf("Events: got %v, want one Warning", events)
			}
			if tries != 1 {
				t.Errorf("deletes in a row: got %d, want 1", tries)
			}
			refuses = false
			if tc.finalizers != nil {
				change(t, unused, func(r *appsv1.ControllerRevision) { r.Finalizers = nil })
			}
			s.later(11 * time.Minute)
			o.settle()
			if s.list(&list); says("Unused ControllerRevision") || len(list.Items) != 1 {
				t.Errorf("once it can be deleted: got %d ControllerRevisions and conditions %+v", len(list.Items), s.exporter.Status.Conditions)
			}
		})
	}
}

// keepsCurrent reports whether the ControllerRevision of the exporter's current revision is there.
func keepsCurrent(t *testing.T, exporter *v1alpha1.PrometheusJmxExporter, kept []appsv1.ControllerRevision) bool {
	t.Helper()
	get(t, exporter)
	return slices.ContainsFunc(kept, func(r appsv1.ControllerRevision) bool {
		return r.Name == exporter.Name+"-"+exporter.Status.Revision
	})
}
