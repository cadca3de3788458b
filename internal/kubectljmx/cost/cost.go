// Package cost asks agents what their collections cost: kubectl jmx top.
package cost

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
)

// The agent's own metrics of a collection; docs/collection-costs.md.
const (
	metricDuration  = "jmx_exporter_collection_duration_seconds"
	metricCPU       = "jmx_exporter_collection_cpu_seconds"
	metricAllocated = "jmx_exporter_collection_allocated_bytes"
	metricSeries    = "jmx_exporter_collection_series"
	metricMBeans    = "jmx_exporter_collection_mbeans"
	metricRules     = "jmx_exporter_collection_rule_cpu_seconds"
	labelRule       = "rule"
)

// concurrency limits the port-forwards at a time: each is a stream through the API server.
const concurrency = 5

// maxResponse limits what is read of a response, to much more than the costs of the rules
// of any configuration.
const maxResponse = 1 << 20

// Cost is what a collection in a JVM costs. A value is absent if the JVM does not measure it.
type Cost struct {
	Namespace       string   `json:"namespace"`
	Pod             string   `json:"pod"`
	Container       string   `json:"container"`
	PID             int32    `json:"pid"`
	DurationSeconds *float64 `json:"durationSeconds,omitempty"`
	CPUSeconds      *float64 `json:"cpuSeconds,omitempty"`
	AllocatedBytes  *float64 `json:"allocatedBytes,omitempty"`
	Series          *float64 `json:"series,omitempty"`
	MBeans          *float64 `json:"mbeans,omitempty"`
	// Rules are the rules with a pattern, the most expensive one first.
	Rules []Rule `json:"rules,omitempty"`
	// Expensive is the reason of ScrapeExpensive, and what the agent suggests.
	Expensive *v1alpha1.ExpensiveScrape `json:"expensive,omitempty"`
	// Error is why the cost is not known.
	Error string `json:"error,omitempty"`

	exporter     string
	configSHA256 string
	// names are the numbers of series by name of the metric, if they were asked for.
	names map[string]int
}

// Rule is what a rule costs.
type Rule struct {
	// Rule is its number in the configuration, from 1.
	Rule       int     `json:"rule"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// Pattern is its pattern; empty if the user may not read the ConfigMap.
	Pattern string `json:"pattern,omitempty"`
	// Series is how many series it makes; absent if they were not asked for.
	Series *Bounds `json:"series,omitempty"`
}

// Of collects once in each JVM with an endpoint of these records, as a scrape does; twice to
// count the series by name of the metric. progress is called with the number of JVMs that
// have answered.
func Of(ctx context.Context, c *cluster.Cluster, records []v1alpha1.JmxAttachment, credentials endpoint.Credentials, timeout time.Duration, series bool, progress func(done, all int)) []Cost {
	type job struct {
		target endpoint.Target
		cost   *Cost
	}
	var jobs []job
	for i := range records {
		record := &records[i]
		for _, target := range endpoint.Targets(record) {
			cost := &Cost{Namespace: target.Namespace, Pod: target.Pod, Container: target.Container, PID: target.PID, exporter: record.Spec.Exporter.Name}
			cost.recorded(record)
			jobs = append(jobs, job{target, cost})
		}
	}
	request := endpoint.Request{
		Credentials: credentials, Timeout: timeout, MaxBytes: maxResponse,
		Names: []string{metricDuration, metricCPU, metricAllocated, metricSeries, metricMBeans, metricRules},
	}
	answered := make(chan struct{}, len(jobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, job := range jobs {
		group.Go(func() error {
			job.cost.ask(ctx, c, job.target, request, series)
			answered <- struct{}{}
			progress(len(answered), len(jobs))
			return nil
		})
	}
	_ = group.Wait() // each error is in its cost
	costs := make([]Cost, len(jobs))
	for i, job := range jobs {
		costs[i] = *job.cost
	}
	slices.SortStableFunc(costs, func(a, b Cost) int { return cmp.Compare(value(b.CPUSeconds), value(a.CPUSeconds)) })
	return costs
}

// recorded adds what the record says of the JVM.
func (c *Cost) recorded(record *v1alpha1.JmxAttachment) {
	for _, p := range record.Status.Processes {
		if p.Container != c.Container || p.PID != c.PID {
			continue
		}
		c.configSHA256 = p.ConfigSHA256
		if p.Notices != nil {
			c.Expensive = p.Notices.Expensive
		}
	}
}

func (c *Cost) ask(ctx context.Context, cl *cluster.Cluster, t endpoint.Target, request endpoint.Request, series bool) {
	text, err := endpoint.Metrics(ctx, cl, t, request)
	if err == nil {
		err = c.read(text)
	}
	if err == nil && series && len(c.Rules) > 0 {
		err = c.count(ctx, cl, t, request)
	}
	if err != nil {
		c.Error = err.Error()
	}
}

// count counts series by name. The agent responds with all metrics only without those of rules.
func (c *Cost) count(ctx context.Context, cl *cluster.Cluster, t endpoint.Target, request endpoint.Request) error {
	request.Names, request.MaxBytes = nil, endpoint.MaxResponse
	text, err := endpoint.Metrics(ctx, cl, t, request)
	if err != nil {
		return err
	}
	c.names = seriesByName(text)
	return c.read(endpoint.Filter(text, ofCollection))
}

// ofCollection matches the metrics of a collection.
var ofCollection = regexp.MustCompile("^jmx_exporter_collection_")

func (c *Cost) read(text string) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return err
	}
	for name, to := range map[string]**float64{
		metricDuration: &c.DurationSeconds, metricCPU: &c.CPUSeconds, metricAllocated: &c.AllocatedBytes, metricSeries: &c.Series, metricMBeans: &c.MBeans,
	} {
		if family := families[name]; family != nil {
			*to = sample(family.Metric[0])
		}
	}
	if c.DurationSeconds == nil {
		c.Error = "the endpoint does not say what a collection costs: it is of the stock exporter or an older agent"
	}
	for _, m := range families[metricRules].GetMetric() {
		for _, label := range m.Label {
			number, err := strconv.Atoi(label.GetValue())
			if cpu := sample(m); label.GetName() == labelRule && err == nil && cpu != nil {
				c.Rules = append(c.Rules, Rule{Rule: number, CPUSeconds: *cpu})
			}
		}
	}
	slices.SortFunc(c.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(b.CPUSeconds, a.CPUSeconds), cmp.Compare(a.Rule, b.Rule))
	})
	return nil
}

// sample returns the value of a metric; nil if it is not finite, which JSON cannot hold.
func sample(m *dto.Metric) *float64 {
	v := cmp.Or(m.GetGauge().GetValue(), m.GetUntyped().GetValue(), m.GetCounter().GetValue())
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func value(v *float64) float64 {
	if v == nil {
		return -1
	}
	return *v
}
