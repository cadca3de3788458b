//go:build linux

package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A row is one kind of cost.
type row struct {
	name   string
	series int
	value  func(cost) float64
	format string
}

func rows(sizes []int) []row {
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	mebibytes := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	small := sizes[0]
	out := []row{
		{"CPU of the load, ms", small, func(c cost) float64 { return milliseconds(c.loadCPU) }, "%.0f"},
		{"CPU of the first scrape, ms", small, func(c cost) float64 { return milliseconds(c.firstCPU) }, "%.0f"},
		{"CPU of both, ms", small, func(c cost) float64 { return milliseconds(c.loadCPU + c.firstCPU) }, "%.0f"},
		{"classes loaded by the load", small, func(c cost) float64 { return float64(c.loadClasses) }, "%.0f"},
		{"classes loaded by the first scrape", small, func(c cost) float64 { return float64(c.firstClasses) }, "%.0f"},
		{"memory outside the heap after the load, MiB", small, func(c cost) float64 { return mebibytes(c.loadMemory) }, "%.1f"},
		{fmt.Sprintf("memory outside the heap after %d scrapes, MiB", scrapes), small, func(c cost) float64 { return mebibytes(c.scrapedMemory) }, "%.1f"},
	}
	for _, series := range sizes {
		out = append(out,
			row{fmt.Sprintf("time of a scrape of %d series, ms", series), series, func(c cost) float64 { return milliseconds(c.scrapeTime) }, "%.1f"},
			row{fmt.Sprintf("CPU of a scrape of %d series, ms", series), series, func(c cost) float64 { return milliseconds(c.scrapeCPU) }, "%.1f"})
	}
	return out
}

func heading(rounds int) string {
	return fmt.Sprintf("%d cores of %s. Medians of %d JVMs for each agent, with the smallest and the largest; the ratio is the median of those of each round.\n\n",
		runtime.NumCPU(), processor(), rounds)
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(info); m != nil {
		return string(m[1])
	}
	return runtime.GOARCH
}

// table compares the two on one JDK.
func table(jdk jdk, sizes []int, results map[int][]pair) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### JDK %s\n\n| | this agent | stock exporter | ratio | goal |\n| --- | ---: | ---: | ---: | --- |\n", jdk.version)
	for _, r := range rows(sizes) {
		var ours, stock, ratios []float64
		for _, p := range results[r.series] {
			ours = append(ours, r.value(p.ours))
			stock = append(stock, r.value(p.stock))
			ratios = append(ratios, r.value(p.ours)/r.value(p.stock))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name,
			spread(r.format, ours), spread(r.format, stock), spread("%.2f", ratios), verdict(median(ratios), 1))
	}
	return b.String()
}

// spread is the median of some values, with the smallest and the largest.
func spread(format string, values []float64) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", median(values), slices.Min(values), slices.Max(values))
}

func verdict(ratio, goal float64) string {
	if ratio <= goal {
		return "met"
	}
	return "**missed**"
}

// jarsTable compares the sizes of what travels to a pod.
func (b *bench) jarsTable() string {
	ours, stock := size(b.ours.jars), size(b.stock.jars)
	ratio := float64(ours) / float64(stock)
	return fmt.Sprintf("### Jars\n\n| | this agent | stock exporter | ratio | goal: half |\n| --- | ---: | ---: | ---: | --- |\n| bytes | %d | %d | %.2f | %s |\n",
		ours, stock, ratio, verdict(ratio, 0.5))
}

func size(files []string) int64 {
	var sum int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// The markers between which a page has the table.
const (
	begin = "<!-- make bench-agent writes from here -->\n"
	end   = "<!-- to here -->\n"
)

// writeBetweenMarkers replaces what a page has between the markers.
func writeBetweenMarkers(page, text string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s lacks the markers %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
