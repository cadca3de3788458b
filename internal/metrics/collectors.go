package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector computes values from objects in the cache at each scrape. Readers of the
// operator's metrics may not be allowed to read these objects, so the first labels, names
// chosen by tenants, are omitted unless requested.
type collector struct {
	desc *prometheus.Desc
	// labels is the number of labels, skipped that of the omitted ones before them.
	labels, skipped int
	// merge makes one value of two with the same labels.
	merge   func(a, b float64) float64
	observe func(ctx context.Context, add adder) error
}

// adder adds a value with these labels, the names first.
type adder func(value float64, labels ...string)

func sum(a, b float64) float64 { return a + b }

func newCollector(name, help string, names, labels []string, named bool, merge func(a, b float64) float64, observe func(context.Context, adder) error) prometheus.Collector {
	c := collector{merge: merge, observe: observe}
	if !named {
		c.skipped, names = len(names), nil
	}
	c.labels = len(names) + len(labels)
	c.desc = prometheus.NewDesc(name, help, slices.Concat(names, labels), nil)
	return c
}

// Describe implements prometheus.Collector.
func (c collector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // a scrape has no context
	defer cancel()
	// There are at most four labels; an array is a comparable key.
	values := map[[4]string]float64{}
	err := c.observe(ctx, func(value float64, labels ...string) {
		var key [4]string
		copy(key[:], labels[c.skipped:])
		if other, ok := values[key]; ok {
			value = c.merge(other, value)
		}
		values[key] = value
	})
	if err != nil {
		out <- prometheus.NewInvalidMetric(c.desc, err)
		return
	}
	for key, value := range values {
		out <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, value, key[:c.labels]...)
	}
}
