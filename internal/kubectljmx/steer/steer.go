// Package steer changes what the operator does: it pauses and resumes a rollout, retries a
// pod, detaches from one. It writes only the fields and annotations that users set.
package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// patch merges fields into an object, if it is still the one that was read.
func patch(ctx context.Context, c *cluster.Cluster, object client.Object, fields map[string]any) error {
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		fields["metadata"] = metadata
	}
	metadata["uid"] = object.GetUID()
	content, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return cluster.Explain(c.Patch(ctx, object, client.RawPatch(types.MergePatchType, content), cluster.FieldManager))
}

func annotation(key string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
}

// Pause suspends the rollout of an exporter.
func Pause(ctx context.Context, c *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter) error {
	return patch(ctx, c, e, map[string]any{"spec": map[string]any{"suspend": true}})
}

// Discards reports whether Resume makes exits no longer count, or ends a halt. Where only
// spec.suspend is to be ended, exits that neither pause nor halt the rollout keep counting.
func Discards(e *v1alpha1.PrometheusJmxExporter) bool {
	restarts := e.Status.Restarts
	return e.Status.Halt != nil || restarts != nil && (restarts.Paused || !e.Spec.Suspend)
}

// Resume ends the suspension of an exporter, and a pause or halt of its rollout with a new value
// of the annotation that the operator reads for this.
func Resume(ctx context.Context, c *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter, value string) error {
	fields := map[string]any{}
	if Discards(e) {
		fields = annotation(v1alpha1.AnnotationResume, value)
	}
	if e.Spec.Suspend {
		fields["spec"] = map[string]any{"suspend": nil}
	}
	return patch(ctx, c, e, fields)
}

// Retry deletes the record of a pod, which the operator recreates from what it observes.
func Retry(ctx context.Context, c *cluster.Cluster, record *v1alpha1.JmxAttachment) error {
	err := c.Delete(ctx, record, client.Preconditions{UID: &record.UID})
	if apierrors.IsNotFound(err) { // the operator or another person deleted it
		return nil
	}
	return cluster.Explain(err)
}

// OptOut excludes a pod from all exporters, which detaches from it, or includes it again.
func OptOut(ctx context.Context, c *cluster.Cluster, pod *corev1.Pod, out bool) error {
	if out {
		return patch(ctx, c, pod, annotation(v1alpha1.AnnotationOptOut, "true"))
	}
	return patch(ctx, c, pod, annotation(v1alpha1.AnnotationOptOut, nil))
}

// Appliers returns the field managers that apply an object, such as a GitOps tool, and so
// may undo what another manager changes in it.
func Appliers(object metav1.Object) []string {
	var all []string
	for _, f := range object.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationApply && f.Subresource == "" && !slices.Contains(all, f.Manager) {
			all = append(all, f.Manager)
		}
	}
	return all
}

// Caution returns what a person should know before or after a change that a field manager
// may undo; empty if none does.
func Caution(object metav1.Object) string {
	if all := Appliers(object); len(all) > 0 {
		return fmt.Sprintf("this object is applied by %s: if that sets the same field, change it at its source too", strings.Join(all, ", "))
	}
	return ""
}
