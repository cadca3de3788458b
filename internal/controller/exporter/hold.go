package exporter

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// hold reports in the conditions why the exporter is not reconciled. The rest of its status stays.
func (r *Reconciler) hold(ctx context.Context, request ctrl.Request, why *enqueue.Hold) error {
	var exporter v1alpha1.PrometheusJmxExporter
	err := r.Reader.Get(ctx, request.NamespacedName, &exporter)
	reported, _ := r.reported.Load(request)
	if err != nil || !exporter.DeletionTimestamp.IsZero() || reports(&exporter, why) || reported == why.Message {
		return client.IgnoreNotFound(err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PrometheusJmxExporter"))
	if err := r.Live.Get(ctx, request.NamespacedName, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	// Whoever writes the status stores the spec without what the definition lacks.
	if field := setAmong(live.GetManagedFields(), why.Drops); field != "" {
		r.reported.Store(request, why.Message)
		r.Recorder.Eventf(&exporter, nil, corev1.EventTypeWarning, why.Reason, "Attach", "%s",
			text.Note("The status is not written: the API server would drop "+field+", which the installed CustomResourceDefinition lacks. "+why.Message))
		return nil
	}
	conditions := slices.Clone(exporter.Status.Conditions)
	for kind, holds := range map[string]bool{v1alpha1.ConditionReady: false, v1alpha1.ConditionReconciling: false, v1alpha1.ConditionStalled: true} {
		c := condition(kind, holds, why.Reason, why.Message)
		c.ObservedGeneration, c.LastTransitionTime = exporter.Generation, metav1.NewTime(r.Clock.Now()).Rfc3339Copy()
		meta.SetStatusCondition(&conditions, c)
	}
	if err := r.Writer.ExporterConditions(ctx, live, conditions); err != nil {
		return err
	}
	r.announce(&exporter, exporter.Status.Conditions, conditions)
	return nil
}

// reports reports whether the conditions of an exporter say so already.
func reports(exporter *v1alpha1.PrometheusJmxExporter, why *enqueue.Hold) bool {
	stalled := meta.FindStatusCondition(exporter.Status.Conditions, v1alpha1.ConditionStalled)
	return stalled != nil && stalled.Reason == why.Reason && stalled.Message == why.Message && stalled.ObservedGeneration == exporter.Generation
}

// setAmong returns the first of some fields that is of a spec, and that somebody may have set; empty
// for none. The managed fields also name what the API server hides.
func setAmong(managed []metav1.ManagedFieldsEntry, fields []string) string {
	for _, field := range fields {
		path, _, _ := strings.Cut(field, "=")
		sets := func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Subresource == "" && names(entry, strings.Split(path, "."))
		}
		if strings.HasPrefix(path+".", "spec.") && (len(managed) == 0 || slices.ContainsFunc(managed, sets)) {
			return field
		}
	}
	return ""
}

// names reports whether an entry names the field of a path, or something that it is a part of.
func names(entry metav1.ManagedFieldsEntry, path []string) bool {
	var set map[string]any
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set) != nil {
		return true // it may
	}
	for _, name := range path {
		field, found := set["f:"+strings.TrimSuffix(name, "[]")].(map[string]any)
		if !found {
			return false
		}
		if len(field) == 0 {
			return true
		}
		set = field
	}
	return true
}
