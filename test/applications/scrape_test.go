package applications

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A scrape is what an endpoint answered.
type scrape struct{ text string }

func get(ctx context.Context, endpoint string) (scrape, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint+"/metrics", nil)
	if err != nil {
		return scrape{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return scrape{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return scrape{}, err
	}
	if response.StatusCode != http.StatusOK {
		return scrape{}, fmt.Errorf("%s: %s", response.Status, body)
	}
	return scrape{string(body)}, nil
}

// samples returns the lines of series whose metric is one of the JVM's, of the agent's own,
// or neither: of the rule set.
func (s scrape) samples(of func(metric string) bool) (lines []string) {
	for line := range strings.Lines(s.text) {
		if !strings.HasPrefix(line, "#") && of(metric(line)) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// series returns the lines of the rule set's series.
func (s scrape) series() []string {
	return s.samples(func(metric string) bool {
		return !slices.ContainsFunc([]string{"jvm_", "process_", "jmx_"}, func(prefix string) bool { return strings.HasPrefix(metric, prefix) })
	})
}

// failed returns the lines that say that something is missing.
func (s scrape) failed() []string {
	skipped := s.samples(func(metric string) bool { return metric == "jmx_exporter_skipped" })
	if complete := s.samples(func(metric string) bool { return metric == "jmx_scrape_error" }); !slices.Equal(complete, []string{"jmx_scrape_error 0.0"}) {
		skipped = append(skipped, complete...)
	}
	return skipped
}

// collisions returns the series that the collector had to distinguish by their MBeans: a
// gauge and a counter whose names differ only in a suffix that means something, such as
// _total, are one metric.
func (s scrape) collisions() (collisions []string) {
	for _, line := range s.series() {
		if strings.Contains(line, "_objectname=") {
			collisions = append(collisions, line)
		}
	}
	return collisions
}

// missing returns those of want that no series fits.
func (s scrape) missing(want []string) (missing []string) {
	series := s.series()
	for _, w := range want {
		if !slices.ContainsFunc(series, func(line string) bool { return fits(line, w) }) {
			missing = append(missing, w)
		}
	}
	return missing
}

// others returns the metrics that want has no series of.
func (s scrape) others(want []string) (others []string) {
	for _, line := range s.series() {
		if m := metric(line); !slices.Contains(others, m) && !slices.ContainsFunc(want, func(w string) bool { return metric(w) == m }) {
			others = append(others, m)
		}
	}
	return others
}

// metric returns the name in front of labels and value.
func metric(line string) string {
	end := strings.IndexAny(line+" ", "{ ")
	return line[:end]
}

// fits reports whether a series has the name and the labels that are wanted, and is
// positive if that is wanted.
func fits(line, want string) bool {
	want, positive := strings.CutSuffix(want, " > 0")
	labels := strings.TrimSuffix(strings.TrimPrefix(want[len(metric(want)):], "{"), "}")
	if metric(line) != metric(want) {
		return false
	}
	for label := range strings.SplitSeq(labels, ", ") {
		if !strings.Contains(line, label) {
			return false
		}
	}
	value, err := strconv.ParseFloat(line[strings.LastIndex(line, " ")+1:], 64)
	return err == nil && (!positive || value > 0)
}
