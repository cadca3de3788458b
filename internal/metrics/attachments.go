package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// NewAttachmentCollector returns a collector of the JmxAttachments in the cache.
func NewAttachmentCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(attachmentsName,
		"Number of JmxAttachments, by phase and by the reason why the next phase does not hold.",
		[]string{"namespace"}, []string{"phase", "reason"}, names, sum,
		eachAttachment(cache, func(a *v1alpha1.JmxAttachment, add adder) {
			add(1, a.Namespace, string(a.Status.Phase), a.Status.Reason)
		}))
}

// NewRefusedCollector returns a collector of the pods that need a person.
func NewRefusedCollector(cache client.Reader, names bool) prometheus.Collector {
	return newReasonCollector(cache, names, refusedPodsName, "Number of pods that are refused, by reason, without terminating ones.", v1alpha1.NeedsPerson)
}

// NewFailingCollector returns a collector of the pods for which something is wrong that may
// mend without a person.
func NewFailingCollector(cache client.Reader, names bool) prometheus.Collector {
	return newReasonCollector(cache, names, failingPodsName, "Number of pods that are retried because something is wrong, by reason, without terminating ones.", func(reason string) bool {
		return v1alpha1.Known(reason) && !v1alpha1.Passing(reason) && !v1alpha1.NeedsPerson(reason)
	})
}

func newReasonCollector(cache client.Reader, names bool, name, help string, counts func(reason string) bool) prometheus.Collector {
	return newCollector(name, help, exporterNames, []string{"reason"}, names, sum,
		func(ctx context.Context, add adder) error {
			return eachAttachment(cache, func(a *v1alpha1.JmxAttachment, add adder) {
				if counts(a.Status.Reason) && !terminating(ctx, cache, a) {
					add(1, a.Namespace, a.Spec.Exporter.Name, a.Status.Reason)
				}
			})(ctx, add)
		})
}

// terminating reports whether the pod of a record is about to go, and the record with it:
// nothing is tried in it any more, and nobody has to do anything. On a node that is lost, that
// may last.
func terminating(ctx context.Context, cache client.Reader, a *v1alpha1.JmxAttachment) bool {
	var pod corev1.Pod
	err := cache.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: a.Spec.Pod.Name}, &pod, client.UnsafeDisableDeepCopy)
	return err == nil && !pod.DeletionTimestamp.IsZero()
}

// NewConditionCollector returns a collector of the JmxAttachments in the cache whose
// conditions say what their scrapes lack or cost.
func NewConditionCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(conditionsName,
		"Number of JmxAttachments with a condition ScrapeIncomplete or ScrapeExpensive that is True, by condition and reason.",
		exporterNames, []string{"condition", "reason"}, names, sum,
		eachAttachment(cache, func(a *v1alpha1.JmxAttachment, add adder) {
			for _, kind := range record.NoticeConditions {
				if c := meta.FindStatusCondition(a.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
					add(1, a.Namespace, a.Spec.Exporter.Name, kind, c.Reason)
				}
			}
		}))
}

func eachAttachment(cache client.Reader, observe func(*v1alpha1.JmxAttachment, adder)) func(context.Context, adder) error {
	return func(ctx context.Context, add adder) error {
		var list v1alpha1.JmxAttachmentList
		err := cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
		for i := range list.Items {
			observe(&list.Items[i], add)
		}
		return err
	}
}
