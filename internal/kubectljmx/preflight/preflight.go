// Package preflight asks the operator which pods can be attached to, and why not others:
// kubectl jmx preflight.
package preflight

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
)

// Report is what an exporter in mode Preflight found.
type Report struct {
	Namespace          string `json:"namespace"`
	Exporter           string `json:"exporter"`
	Complete           bool   `json:"complete"`
	Matched            int32  `json:"matched"`
	v1alpha1.Preflight `json:",inline"`
	// Docs are the sections of the documentation about the reasons.
	Docs map[string]string `json:"docs,omitempty"`
}

// Of returns the report of an exporter; nil if it is not in mode Preflight, or not
// processed yet.
func Of(e *v1alpha1.PrometheusJmxExporter) *Report {
	if e.Status.Preflight == nil {
		return nil
	}
	report := &Report{
		Namespace: e.Namespace, Exporter: e.Name, Matched: e.Status.Matched, Preflight: *e.Status.Preflight, Docs: map[string]string{},
		Complete: complete(e),
	}
	for _, r := range report.Reasons {
		report.Docs[r.Reason] = advice.Link(r.Reason)
	}
	return report
}

// reason returns the reason of PreflightComplete; empty if it is not of this generation.
func reason(e *v1alpha1.PrometheusJmxExporter) string {
	c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionPreflightComplete)
	if c == nil || e.Status.ObservedGeneration != e.Generation {
		return ""
	}
	return c.Reason
}

func complete(e *v1alpha1.PrometheusJmxExporter) bool {
	return reason(e) == v1alpha1.ReasonPodsInspected
}

// Run creates an exporter in mode Preflight with the selector of a spec, waits until all pods are
// inspected, and returns the report. The exporter is deleted afterwards, unless keep.
func Run(ctx context.Context, c *cluster.Cluster, selects *v1alpha1.PrometheusJmxExporterSpec, keep bool, timeout time.Duration, progress func(string, ...any)) (report *Report, err error) {
	exporter := &v1alpha1.PrometheusJmxExporter{
		// Named here, so that it is known which one to delete if the answer to its creation is lost.
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "preflight-" + rand.String(8)},
		Spec: v1alpha1.PrometheusJmxExporterSpec{
			Mode: v1alpha1.ModePreflight, LabelSelector: selects.LabelSelector, Selector: selects.Selector,
			// A preflight needs no configuration; the field is required.
			Config: v1alpha1.ConfigMapKey{ConfigMapName: "none", ConfigMapKey: "none"},
		},
	}
	if !keep {
		defer func() {
			if removed := remove(ctx, c, exporter); removed != nil && err == nil {
				err = removed
			}
		}()
	}
	if err := c.Create(ctx, exporter, cluster.FieldManager); err != nil {
		return nil, cluster.Explain(err)
	}
	progress("created exporter %s/%s in mode Preflight", exporter.Namespace, exporter.Name)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timeout after %s", timeout))
	defer cancel()
	if err := wait(ctx, c, exporter, progress); err != nil {
		return nil, err
	}
	return Of(exporter), nil
}

// removal is how long an exporter may take to be deleted after an interrupt.
const removal = 10 * time.Second

func remove(ctx context.Context, c *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	if err := client.IgnoreNotFound(c.Delete(ctx, e)); err != nil {
		return fmt.Errorf("exporter %s/%s stays, and changes nothing in its pods; delete it: kubectl delete pjmx -n %s %s: %w", e.Namespace, e.Name, e.Namespace, e.Name, cluster.Explain(err))
	}
	return nil
}

// wait returns when all pods are inspected, with the exporter as it is then.
func wait(ctx context.Context, c *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter, progress func(string, ...any)) error {
	for {
		switch reason(e) {
		case v1alpha1.ReasonPodsInspected:
			return nil
		case v1alpha1.ReasonNoPodsMatched:
			return fmt.Errorf("no running pod in namespace %s matches %s; list the labels of its pods: kubectl get pods -n %s --show-labels", e.Namespace, e.Spec.AsSelector(), e.Namespace)
		}
		if p := e.Status.Preflight; p != nil {
			progress("inspected %d of %d pods", e.Status.Matched-p.Pending, e.Status.Matched)
		} else {
			progress("waiting for the operator")
		}
		if err := next(ctx, c, e); err != nil {
			return err
		}
	}
}

// next waits for a change of the exporter, and reads it.
func next(ctx context.Context, c *cluster.Cluster, e *v1alpha1.PrometheusJmxExporter) error {
	options := &client.ListOptions{Namespace: e.Namespace, Raw: &metav1.ListOptions{
		FieldSelector: "metadata.name=" + e.Name, ResourceVersion: e.ResourceVersion,
	}}
	changes, err := c.Watch(ctx, &v1alpha1.PrometheusJmxExporterList{}, options)
	if err == nil {
		defer changes.Stop()
		select {
		case <-changes.ResultChan():
		case <-ctx.Done():
		}
		err = c.Get(ctx, client.ObjectKeyFromObject(e), e)
	}
	if ctx.Err() != nil {
		return unfinished(e, context.Cause(ctx))
	}
	return cluster.Explain(err)
}

func unfinished(e *v1alpha1.PrometheusJmxExporter, cause error) error {
	if e.Status.Preflight == nil {
		return fmt.Errorf("no operator has processed exporter %s/%s (%w): %s", e.Namespace, e.Name, cause, advice.CheckOperator)
	}
	return fmt.Errorf("%d of %d pods are not inspected yet (%w): try again with a longer --timeout", e.Status.Preflight.Pending, e.Status.Matched, cause)
}
