package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// exporterNames are the labels of an exporter that are omitted unless requested.
var exporterNames = []string{"namespace", "exporter"}

// NewProblemCollector returns a collector of the pods that do not run according to the
// status of exporters.
func NewProblemCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(problemPodsName,
		"Number of pods that match an exporter's selector and do not run, by reason; pods beyond the limit of its status are counted as Omitted.",
		exporterNames, []string{"reason"}, names, sum,
		eachExporter(cache, func(e *v1alpha1.PrometheusJmxExporter, add adder) {
			type problem struct{ pod, reason string }
			counted := map[problem]bool{} // a pod counts once for each reason
			for _, p := range e.Status.ProblemPods {
				if of := (problem{string(p.UID), p.Reason}); !counted[of] {
					counted[of] = true
					add(1, e.Namespace, e.Name, p.Reason)
				}
			}
			if omitted := e.Status.ProblemPodsOmitted; omitted > 0 {
				add(float64(omitted), e.Namespace, e.Name, "Omitted")
			}
		}))
}

// NewHaltCollector returns a collector of the exporters whose rollout is halted.
func NewHaltCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(haltsName, "Number of PrometheusJmxExporters whose rollout is halted, by reason.",
		exporterNames, []string{"reason"}, names, sum,
		eachExporter(cache, func(e *v1alpha1.PrometheusJmxExporter, add adder) {
			if halt := e.Status.Halt; halt != nil {
				add(1, e.Namespace, e.Name, halt.Reason)
			}
		}))
}

// NewRestartCollector returns a collector of the pods whose restarts pause rollouts.
func NewRestartCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(restartsName, "Number of pods in which a container exited soon after an attach or a change, which paused the rollout.",
		exporterNames, nil, names, sum,
		eachExporter(cache, func(e *v1alpha1.PrometheusJmxExporter, add adder) {
			if restarts := e.Status.Restarts; restarts != nil {
				add(float64(len(restarts.Pods)), e.Namespace, e.Name)
			}
		}))
}

// NewStalledCollector returns a collector of the exporters that need a person.
func NewStalledCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(stalledName, "Number of PrometheusJmxExporters whose condition Stalled is True, by its reason.",
		exporterNames, []string{"reason"}, names, sum,
		eachExporter(cache, func(e *v1alpha1.PrometheusJmxExporter, add adder) {
			if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
				add(1, e.Namespace, e.Name, c.Reason)
			}
		}))
}

// NewCertificateCollector returns a collector of when the certificates of endpoints expire.
func NewCertificateCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(certificateName, "Time at which the certificate of an exporter's endpoints expires, in seconds since 1970: the earliest of all exporters.",
		exporterNames, nil, names, func(a, b float64) float64 { return min(a, b) },
		eachExporter(cache, func(e *v1alpha1.PrometheusJmxExporter, add adder) {
			if end := e.Status.CertificateNotAfter; end != nil {
				add(float64(end.Unix()), e.Namespace, e.Name)
			}
		}))
}

func eachExporter(cache client.Reader, observe func(*v1alpha1.PrometheusJmxExporter, adder)) func(context.Context, adder) error {
	return func(ctx context.Context, add adder) error {
		var list v1alpha1.PrometheusJmxExporterList
		err := cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
		for i := range list.Items {
			observe(&list.Items[i], add)
		}
		return err
	}
}
