package exporter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// shop is the namespace of these tests.
const shop = "shop"

// cache is a client.Reader that returns its own objects, as the operator's cache does, and
// counts the records that are listed and copied.
type cache struct {
	objects        []client.Object
	listed, copied int
}

// Get implements client.Reader.
func (c *cache) Get(_ context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	o := &client.GetOptions{}
	o.ApplyOptions(options)
	for _, kept := range c.objects {
		if client.ObjectKeyFromObject(kept) != key {
			continue
		}
		switch into := into.(type) {
		case *v1alpha1.JmxAttachment:
			if kept, ok := kept.(*v1alpha1.JmxAttachment); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*v1alpha1.JmxAttachment)
				return nil
			}
		case *v1alpha1.PrometheusJmxExporter:
			if kept, ok := kept.(*v1alpha1.PrometheusJmxExporter); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*v1alpha1.PrometheusJmxExporter)
				return nil
			}
		case *corev1.Pod:
			if kept, ok := kept.(*corev1.Pod); ok {
				*into = *c.hand(kept, o.UnsafeDisableDeepCopy).(*corev1.Pod)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(corev1.Resource("things"), key.Name)
}

// List implements client.Reader.
func (c *cache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	var found []runtime.Object
	for _, kept := range c.objects {
		if !lists(list, kept) || kept.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(apilabels.Set(kept.GetLabels())) {
			continue
		}
		if a, ok := kept.(*v1alpha1.JmxAttachment); ok {
			if o.FieldSelector != nil && !o.FieldSelector.Matches(fields.Set{"spec.exporter.uid": string(a.Spec.Exporter.UID)}) {
				continue
			}
			c.listed++
		}
		found = append(found, c.hand(kept, o.UnsafeDisableDeepCopy))
	}
	return apimeta.SetList(list, found)
}

func lists(list client.ObjectList, object client.Object) bool {
	switch object.(type) {
	case *v1alpha1.JmxAttachment:
		_, ok := list.(*v1alpha1.JmxAttachmentList)
		return ok
	case *v1alpha1.PrometheusJmxExporter:
		_, ok := list.(*v1alpha1.PrometheusJmxExporterList)
		return ok
	case *corev1.Pod:
		_, ok := list.(*corev1.PodList)
		return ok
	}
	return false
}

func (c *cache) hand(kept client.Object, shared *bool) client.Object {
	if shared != nil && *shared {
		return kept
	}
	if _, ok := kept.(*v1alpha1.JmxAttachment); ok {
		c.copied++
	}
	return kept.DeepCopyObject().(client.Object)
}

// accepting is an API server that accepts each apply.
type accepting struct{ client.Client }

// GroupVersionKindFor implements client.Client, for the kind whose status is applied.
func (accepting) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return v1alpha1.SchemeGroupVersion.WithKind("PrometheusJmxExporter"), nil
}

// Apply implements client.Client.
func (accepting) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return nil
}

// Status implements client.Client.
func (accepting) Status() client.SubResourceWriter { return acceptingStatus{} }

type acceptingStatus struct{ client.SubResourceWriter }

// Apply implements client.SubResourceWriter.
func (acceptingStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return nil
}

// fill adds an exporter and its pods, each with a record.
func (c *cache) fill(name string, pods int) {
	exporter := &v1alpha1.PrometheusJmxExporter{}
	exporter.Namespace, exporter.Name, exporter.UID, exporter.ResourceVersion = shop, name, types.UID(name), "1"
	exporter.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}
	exporter.Spec.Rollout.MaxConcurrent, exporter.Spec.Rollout.MaxConcurrentPerNode = 1000, 1000
	c.objects = append(c.objects, exporter)
	for i := range pods {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name, pod.Labels = shop, fmt.Sprintf("%s-%d", name, i), map[string]string{"app": name}
		pod.UID, pod.Status.Phase, pod.Status.PodIP = types.UID(pod.Name), corev1.PodRunning, "10.0.0.1"
		a := &v1alpha1.JmxAttachment{}
		a.Namespace, a.Name, a.UID = shop, selection.AttachmentName(pod), types.UID("record of "+pod.Name)
		a.Labels = map[string]string{v1alpha1.LabelExporterUID: name}
		a.Spec.Pod = v1alpha1.ObjectIdentity{Name: pod.Name, UID: pod.UID}
		a.Spec.Exporter = v1alpha1.ObjectIdentity{Name: name, UID: exporter.UID}
		a.Spec.Revision = "r"
		a.Status = servingStatus()
		c.objects = append(c.objects, pod, a)
	}
}

func servingStatus() v1alpha1.JmxAttachmentStatus {
	return v1alpha1.JmxAttachmentStatus{
		Phase:      v1alpha1.PhaseAnnotated,
		Revision:   "r",
		Conditions: []metav1.Condition{{Type: "Exposed", Status: metav1.ConditionTrue, Reason: "EndpointPublished", Message: "It answers.", LastTransitionTime: metav1.NewTime(now)}},
		Containers: []v1alpha1.InspectedContainer{{Name: "app", ContainerID: "1", Time: new(metav1.NewTime(now))}},
		Processes: []v1alpha1.JavaProcess{{
			Container: "app", ContainerID: "1", PID: 7, Phase: v1alpha1.PhaseExposed, Port: 9400, Primary: true,
			Endpoint: &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400, CheckedFrom: v1alpha1.CheckedFromOperator},
		}},
	}
}

func (c *cache) reconciler() *Reconciler {
	return &Reconciler{
		Reader: c, Live: c, Writer: records.New(apply.New(accepting{}, effects.Direct)), Source: source.New(c, c, nil), Artifacts: &steps.Artifacts{},
		Logs:     podlog.NewReader(nil, testclock.NewFakePassiveClock(now)),
		Recorder: events.NewFakeRecorder(100), Clock: testclock.NewFakePassiveClock(now),
	}
}
