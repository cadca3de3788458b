//go:build linux

package main

import (
	"fmt"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

// tables are the goals, then what each way took.
func tables(o options, results map[string][]result) string {
	var b strings.Builder
	rounds := 0
	for _, measured := range results {
		rounds = max(rounds, len(measured))
	}
	fmt.Fprintf(&b, "%s. %d pods on one node, %d at once but for the operator, which has its own limits; medians of %d, with the smallest and the largest; a ratio is the median of those of each round.\n\n",
		report.Machine(), o.pods, o.parallel, rounds)
	if len(results["d"])+len(results["g"]) > 0 {
		b.WriteString(goals(results) + "\n")
	}
	b.WriteString(details(results))
	return b.String()
}

// A goal is a row of the first table.
type goal struct {
	name, format string
	values       []float64
	goal         float64
	// most reports that the goal is the most that it may be, not the least.
	most bool
}

func (g goal) row() string {
	reached := report.Median(g.values)
	met := reached >= g.goal
	if g.most {
		met = reached <= g.goal
	}
	return fmt.Sprintf("| %s | %s | %g | %s |\n", g.name, report.Spread(g.format, g.values), g.goal, report.Verdict(met))
}

// goals are those of each transport of the operator that was measured.
func goals(results map[string][]result) string {
	var rows []goal
	for _, t := range []struct {
		name, letter, alone             string
		perSecond, time, outside, after float64
	}{
		{"exec", "d", "e", 2, 0, 0.3, 1},
		{"node agent", "g", "h", 3.5, 1.3, 0.12, 0.35},
	} {
		operator := results[t.letter]
		if len(operator) == 0 {
			continue
		}
		of := func(value func(result) float64) []float64 { return valuesOf(operator, value) }
		if others := results["a"]; len(others) > 0 {
			rows = append(rows, goal{t.name + " against the ancestor's steps, pods a second", "%.2f", ratios(operator, others, result.perSecond), t.perSecond, false})
		}
		if others := results["c"]; len(others) > 0 && t.time > 0 {
			rows = append(rows, goal{t.name + " against the floor, time", "%.2f", ratios(operator, others, seconds), t.time, true})
		}
		rows = append(rows,
			goal{t.name + ": CPU outside the JVM, s a pod", "%.2f", of(func(r result) float64 { return r.aPod(r.cpu.outside()) }), t.outside, true},
			goal{t.name + ": applies a pod, cold", "%.1f", of(func(r result) float64 { return r.counts.applies / float64(r.pods) }), 5, true},
			goal{t.name + ": Events a pod, cold", "%.1f", of(func(r result) float64 { return r.counts.events / float64(r.pods) }), 1, true},
		)
		if alone := results[t.alone]; len(alone) > 0 {
			rows = append(rows, goal{t.name + ": attach of one pod, from when the rollout grants it until it is Annotated, s", "%.2f", valuesOf(alone, func(r result) float64 { return r.granted.Seconds() }), t.after, true})
		}
	}
	var b strings.Builder
	b.WriteString("| the operator by | reached | goal | |\n| --- | ---: | ---: | --- |\n")
	for _, g := range rows {
		b.WriteString(g.row())
	}
	return b.String()
}

// details are what each way took, by who used it.
func details(results map[string][]result) string {
	all, _ := waysOf("abcdfg") // which are known
	var columns []way
	for _, w := range all {
		if len(results[w.letter]) > 0 {
			columns = append(columns, w)
		}
	}
	var b strings.Builder
	b.WriteString("| |")
	for _, w := range columns {
		b.WriteString(" " + w.name + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(columns)) + "\n")
	cpu := func(part func(usage) time.Duration) func(result) float64 {
		return func(r result) float64 { return 1000 * r.aPod(part(r.cpu)) }
	}
	for _, row := range []struct {
		name, format string
		value        func(result) float64
	}{
		{"time until all are scraped, s", "%.1f", seconds},
		{"pods a second", "%.2f", result.perSecond},
		{"through the API server on exec streams, kB a pod", "%.1f", func(r result) float64 { return r.counts.sent / 1000 / float64(r.pods) }},
		{"CPU in the JVM, ms a pod", "%.0f", cpu(func(u usage) time.Duration { return u.jvms })},
		{"CPU outside the JVM, ms a pod", "%.0f", cpu(usage.outside)},
		{"in the container: what a session costs it", "%.0f", cpu(func(u usage) time.Duration { return u.container })},
		{"containerd, shims, runc", "%.0f", cpu(func(u usage) time.Duration { return u.containerd })},
		{"kubelet", "%.0f", cpu(func(u usage) time.Duration { return u.kubelet })},
		{"control plane", "%.0f", cpu(func(u usage) time.Duration { return u.controlPlane })},
		{"kubectl, who attaches from the host, or the operator", "%.0f", cpu(func(u usage) time.Duration { return u.attacher })},
	} {
		b.WriteString("| " + row.name + " |")
		for _, w := range columns {
			b.WriteString(" " + report.Spread(row.format, valuesOf(results[w.letter], row.value)) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func seconds(r result) float64 { return r.took.Seconds() }

func valuesOf(results []result, value func(result) float64) (values []float64) {
	for _, r := range results {
		values = append(values, value(r))
	}
	return values
}

// ratios compares round by round: a machine may be slower in one than in another.
func ratios(results, others []result, value func(result) float64) (values []float64) {
	for i := range min(len(results), len(others)) {
		values = append(values, value(results[i])/value(others[i]))
	}
	return values
}
