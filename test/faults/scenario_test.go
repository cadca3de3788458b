package faults

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// step is a part of the scenario: something happens, and the operator reconciles it.
type step struct {
	name  string
	begin func(*world)
	// ended reports whether the end is reached.
	ended func(context.Context, *world) bool
}

// scenario is what happens in each plan: the agent is loaded, reconfigured, and stopped.
var scenario = []step{
	{"attached", (*world).export, func(ctx context.Context, w *world) bool { return w.serving(ctx, rules) }},
	{"reconfigured", func(w *world) { w.want(otherRules) }, func(ctx context.Context, w *world) bool { return w.serving(ctx, otherRules) }},
	{"detached", func(w *world) { w.must(admin.Delete(w.t.Context(), w.exporter)) }, func(ctx context.Context, w *world) bool { return w.empty(ctx) }},
}

// serving reports whether the pod serves by a configuration, and everything says so.
func (w *world) serving(ctx context.Context, content string) bool {
	digest := sha256.Sum256([]byte(content))
	var list v1alpha1.JmxAttachmentList
	if admin.List(ctx, &list, client.InNamespace(w.namespace)) != nil || len(list.Items) != 1 {
		return false
	}
	exporter := &v1alpha1.PrometheusJmxExporter{}
	if admin.Get(ctx, client.ObjectKeyFromObject(w.exporter), exporter) != nil {
		return false
	}
	a := list.Items[0]
	serves := false
	for _, p := range a.Status.Processes {
		serves = serves || p.ConfigSHA256 == hex.EncodeToString(digest[:])
	}
	for _, c := range a.Status.Containers {
		serves = serves && c.Reason == "" // otherwise it is inspected again
	}
	w.mu.Lock()
	uid := w.pod.UID
	w.mu.Unlock()
	return serves && a.Spec.Pod.UID == uid && a.Status.Phase == v1alpha1.PhaseAnnotated &&
		meta.IsStatusConditionTrue(exporter.Status.Conditions, v1alpha1.ConditionReady) && exporter.Status.ObservedGeneration == exporter.Generation
}

// empty reports whether nothing of the operator's is left but in the container.
func (w *world) empty(ctx context.Context) bool {
	if w.garbageCollect(ctx) != nil {
		return false
	}
	left := w.objects(ctx)
	return !strings.Contains(left, "JmxAttachment") && !strings.Contains(left, "EndpointSlice") && !strings.Contains(left, "prometheus.io/")
}
