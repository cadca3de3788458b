//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
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
		{"wake-ups in an idle minute", small, func(c cost) float64 { return float64(c.idle.wakeUps) }, "%.0f"},
		{"CPU in an idle minute, ms", small, func(c cost) float64 { return milliseconds(c.idle.cpu) }, "%.0f"},
		{"heap allocated in an idle minute, KiB", small, func(c cost) float64 { return float64(c.idle.allocated) / (1 << 10) }, "%.0f"},
	}
	for _, series := range sizes {
		out = append(out,
			row{fmt.Sprintf("time of a scrape of %d series, ms", series), series, func(c cost) float64 { return milliseconds(c.scrapeTime) }, "%.1f"},
			row{fmt.Sprintf("CPU of a scrape of %d series, ms", series), series, func(c cost) float64 { return milliseconds(c.scrapeCPU) }, "%.1f"})
	}
	return out
}

func heading(rounds int) string {
	return fmt.Sprintf("%s. Medians of %d JVMs for each agent, with the smallest and the largest; the ratio is the median of those of each round.\n\n",
		report.Machine(), rounds)
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
			report.Spread(r.format, ours), report.Spread(r.format, stock), report.Spread("%.2f", ratios), report.Verdict(report.Median(ratios) <= 1))
	}
	return b.String()
}

// jarsTable compares the sizes of what travels to a pod.
func (b *bench) jarsTable() string {
	ours, stock := size(b.ours.jars), size(b.stock.jars)
	ratio := float64(ours) / float64(stock)
	return fmt.Sprintf("### Jars\n\n| | this agent | stock exporter | ratio | goal: half |\n| --- | ---: | ---: | ---: | --- |\n| bytes | %d | %d | %.2f | %s |\n",
		ours, stock, ratio, report.Verdict(ratio <= 0.5))
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
