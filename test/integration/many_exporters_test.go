package integration

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Many exporters of a namespace, with three pods each, get all of them attached, with few
// requests. How long an exporter waits for its turn is logged, for a comparison with TestTurns:
// from the moment that another of its pods is Annotated until its status counts it. There are 5
// exporters, 50 with FULL=1, or EXPORTERS.
func TestManyExporters(t *testing.T) {
	t.Parallel()
	const pods = 3
	n := 5
	if full() {
		n = 50
	}
	if exporters, err := strconv.Atoi(os.Getenv("EXPORTERS")); err == nil {
		n = exporters
	}
	c := newCluster(t)
	app := func(i int) string { return fmt.Sprintf("app-%d", i%n) }
	c.runEach(pods*n, 20, func(i int, pod *podBuilder) { pod.pod.Labels["app"] = app(i) })
	var requests atomic.Int64
	as := asInCluster()
	as.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &requests} })
	c.startManager(as)
	c.configure(rules)
	begin := time.Now()
	for i := range n {
		c.exportOpenTo(fmt.Sprintf("exporter-%d", i), app(i))
	}
	waits := c.turns(n, pods)
	perPod := float64(requests.Load()) / float64(pods*n)
	if most := 15.0; perPod > most {
		t.Errorf("requests per pod: got %.1f, want at most %.0f", perPod, most)
	}
	t.Logf("%d pods of %d exporters are Annotated and counted after %s and %.1f requests per pod; the longest wait of an exporter for its turn is %s, that of half of them %s",
		pods*n, n, time.Since(begin), perPod, waits[n-1], waits[n/2])
}

// turns waits until this many exporters count this many pods each, and returns how long each
// lagged behind the records, at most.
func (c *cluster) turns(exporters, pods int) []time.Duration {
	c.t.Helper()
	annotated := map[string][]time.Time{} // of each exporter, the time of each pod
	counted, longest := map[string]int{}, map[string]time.Duration{}
	seen := map[string]bool{}
	done := 0
	within(c.t, time.Hour, func() bool {
		var records v1alpha1.JmxAttachmentList
		c.list(&records)
		now := time.Now()
		for _, a := range records.Items {
			if a.Status.Phase == v1alpha1.PhaseAnnotated && !seen[a.Name] {
				seen[a.Name] = true
				annotated[a.Spec.Exporter.Name] = append(annotated[a.Spec.Exporter.Name], now)
			}
		}
		var list v1alpha1.PrometheusJmxExporterList
		c.list(&list)
		done = 0
		for _, e := range list.Items {
			count := 0
			_, _ = fmt.Sscanf(e.Status.Pods, "%d/", &count)
			for ; counted[e.Name] < min(count, len(annotated[e.Name])); counted[e.Name]++ {
				longest[e.Name] = max(longest[e.Name], time.Since(annotated[e.Name][counted[e.Name]]))
			}
			if counted[e.Name] == pods {
				done++
			}
		}
		return done == exporters
	})
	return slices.Sorted(maps.Values(longest))
}
