package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// Register registers the metrics. What is in the cache is counted at each scrape, by the
// replica that was elected, for its shard: others do not even read it. With names, it has the
// names of namespaces and exporters as labels.
func Register(cache client.Reader, names bool, of shard.Shard, elected <-chan struct{}) {
	metrics.Registry.MustRegister(stepDuration, stepOutcomes, effectsInFlight, effectsDone, execBytes, waiting, totalShards)
	totalShards.Set(float64(max(of.Total, 1)))
	metrics.Registry.MustRegister(Collectors(cache, names, of, elected)...)
}

// Collectors returns the collectors of what is in the cache, which count nothing until elected
// is closed.
func Collectors(cache client.Reader, names bool, of shard.Shard, elected <-chan struct{}) []prometheus.Collector {
	cache = leader{cache, of, elected}
	return []prometheus.Collector{
		NewAttachmentCollector(cache, names), NewRefusedCollector(cache, names), NewFailingCollector(cache, names),
		NewConditionCollector(cache, names), NewProblemCollector(cache, names), NewHaltCollector(cache, names), NewRestartCollector(cache, names), NewStalledCollector(cache, names), NewCertificateCollector(cache, names),
	}
}
