package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// Register registers the metrics. Attachments and problem pods are counted in the cache
// at each scrape; with names, they have the names of namespaces and exporters as labels.
func Register(cache client.Reader, names bool) {
	metrics.Registry.MustRegister(stepDuration, stepOutcomes, effectsInFlight, effectsDone, execBytes,
		NewAttachmentCollector(cache, names), NewConditionCollector(cache, names), NewProblemCollector(cache, names))
}

// collector counts objects in the cache at each scrape. Readers of the operator's
// metrics may not be allowed to read these objects, so the first labels, names chosen by
// tenants, are omitted unless requested.
type collector struct {
	desc *prometheus.Desc
	// labels is the number of labels, skipped that of the omitted ones before them.
	labels, skipped int
	count           func(ctx context.Context, add func(n int, labels ...string)) error
}

func newCollector(name, help string, names, labels []string, named bool, count func(context.Context, func(int, ...string)) error) prometheus.Collector {
	c := collector{count: count}
	if !named {
		c.skipped, names = len(names), nil
	}
	c.labels = len(names) + len(labels)
	c.desc = prometheus.NewDesc(name, help, slices.Concat(names, labels), nil)
	return c
}

// NewAttachmentCollector returns a collector of the JmxAttachments in the cache.
func NewAttachmentCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(attachmentsName,
		"Number of JmxAttachments, by phase and by the reason why the next phase does not hold.",
		[]string{"namespace"}, []string{"phase", "reason"}, names,
		func(ctx context.Context, add func(int, ...string)) error {
			var list v1alpha1.JmxAttachmentList
			err := cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
			for i := range list.Items {
				a := &list.Items[i]
				add(1, a.Namespace, string(a.Status.Phase), a.Status.Reason)
			}
			return err
		})
}

// NewConditionCollector returns a collector of the JmxAttachments in the cache whose
// conditions say what their scrapes lack or cost.
func NewConditionCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(conditionsName,
		"Number of JmxAttachments with a condition ScrapeIncomplete or ScrapeExpensive that is True, by condition and reason.",
		[]string{"namespace", "exporter"}, []string{"condition", "reason"}, names,
		func(ctx context.Context, add func(int, ...string)) error {
			var list v1alpha1.JmxAttachmentList
			err := cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
			for i := range list.Items {
				a := &list.Items[i]
				for _, kind := range record.NoticeConditions {
					if c := meta.FindStatusCondition(a.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
						add(1, a.Namespace, a.Spec.Exporter.Name, kind, c.Reason)
					}
				}
			}
			return err
		})
}

// NewProblemCollector returns a collector of the pods that do not run according to the
// status of exporters.
func NewProblemCollector(cache client.Reader, names bool) prometheus.Collector {
	return newCollector(problemPodsName,
		"Number of pods that match an exporter's selector and do not run, by reason; pods beyond the limit of its status are counted as Omitted.",
		[]string{"namespace", "exporter"}, []string{"reason"}, names,
		func(ctx context.Context, add func(int, ...string)) error {
			var list v1alpha1.PrometheusJmxExporterList
			err := cache.List(ctx, &list, client.UnsafeDisableDeepCopy)
			for i := range list.Items {
				e := &list.Items[i]
				counted := sets.New[string]() // a pod counts once for each reason
				for _, p := range e.Status.ProblemPods {
					if of := string(p.UID) + p.Reason; !counted.Has(of) {
						counted.Insert(of)
						add(1, e.Namespace, e.Name, p.Reason)
					}
				}
				if omitted := e.Status.ProblemPodsOmitted; omitted > 0 {
					add(int(omitted), e.Namespace, e.Name, "Omitted")
				}
			}
			return err
		})
}

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a scrape has no context
	defer cancel()
	// There are at most four labels; an array is a comparable key.
	counts := map[[4]string]int{}
	err := c.count(ctx, func(n int, labels ...string) {
		var key [4]string
		copy(key[:], labels[c.skipped:])
		counts[key] += n
	})
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.desc, err)
		return
	}
	for key, n := range counts {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), key[:c.labels]...)
	}
}
