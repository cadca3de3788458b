//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

// row is a figure of all fleets.
type row struct {
	name   string
	format string
	value  func(result) float64
	// goal is the largest value that is wanted; 0 for none.
	goal float64
	// plot is the name of the picture that shows it; empty for none. short is its name there.
	plot, short string
}

func (w work) requests() (sum int64) {
	for _, n := range w.Requests {
		sum += n
	}
	return sum
}

func (w work) reconciles() (sum float64) {
	for _, n := range w.Reconciles {
		sum += n
	}
	return sum
}

func rows() []row {
	return []row{
		{"requests per pod, first attach", "%.1f", func(r result) float64 { return perPod(r.size, r.Cold.requests()) }, 6, "requests", "first attach"},
		{"requests per pod, new configuration", "%.1f", func(r result) float64 { return perPod(r.size, r.Reconfigured.requests()) }, 5, "requests", "new configuration"},
		{"requests of all in 20 s in which nothing happens", "%.0f", func(r result) float64 { return float64(r.IdleRequests) }, 0, "", ""},
		{"reconciles per pod, first attach", "%.1f", func(r result) float64 { return perPod(r.size, r.Cold.Reconciles["jmxattachment"]) }, 4, "reconciles", "of a pod"},
		{"the same, with those of its exporter", "%.1f", func(r result) float64 { return perPod(r.size, r.Cold.reconciles()) }, 0, "reconciles", "with its exporter's"},
		{"operator CPU per pod, first attach, ms", "%.1f", func(r result) float64 { return perPod(r.size, 1000*r.Cold.CPU) }, 0, "cpu", "first attach"},
		{"operator CPU per pod, new configuration, ms", "%.1f", func(r result) float64 { return perPod(r.size, 1000*r.Reconfigured.CPU) }, 0, "cpu", "new configuration"},
		{"time of the first attach to all, s", "%.0f", func(r result) float64 { return r.Cold.Seconds }, 0, "", ""},
		{"time of a new configuration of all, s", "%.0f", func(r result) float64 { return r.Reconfigured.Seconds }, 0, "", ""},
		{"longest delay until an exporter is reconciled, s", "%.1f", func(r result) float64 { return r.Turn }, 2, "turn", ""},
		{"CPU of one pod that restarts, s", "%.3f", func(r result) float64 { return r.RestartCPU }, 0.05, "restart", ""},
		{"heap of a pod that no exporter selects, kB", "%.1f", func(r result) float64 { return r.HeapPod / 1000 }, 3, "heap", "pod"},
		{"heap that an attached pod adds, kB", "%.1f", func(r result) float64 { return r.HeapRecord / 1000 }, 3, "heap", "its record"},
		{"start of an operator with all attached, until it attaches to a waiting container, s", "%.1f", func(r result) float64 { return r.Started }, 5, "start", ""},
		{"CPU of that start per pod, ms", "%.1f", func(r result) float64 { return perPod(r.size, 1000*r.Start.CPU) }, 0, "", ""},
	}
}

// table has a column for each fleet.
func table(all []result, at time.Time) string {
	var t strings.Builder
	fmt.Fprintf(&t, "One run on %s, on %s, which etcd, kube-apiserver and the nodes share with the operator.\n\n", report.Machine(), at.UTC().Format(time.DateOnly))
	t.WriteString("| pods, exporters |")
	for _, r := range all {
		fmt.Fprintf(&t, " %s, %d |", r.pods(), r.Exporters)
	}
	t.WriteString(" goal | |\n|" + strings.Repeat(" --- |", len(all)+3) + "\n")
	for _, row := range rows() {
		fmt.Fprintf(&t, "| %s |", row.name)
		largest := 0.0
		for _, r := range all {
			fmt.Fprintf(&t, " "+row.format+" |", row.value(r))
			largest = max(largest, row.value(r))
		}
		if row.goal == 0 {
			t.WriteString(" | |\n")
			continue
		}
		fmt.Fprintf(&t, " ≤ %g | %s |\n", row.goal, report.Verdict(largest <= row.goal))
	}
	last := all[len(all)-1]
	fmt.Fprintf(&t, "\nRequests per pod, of %s:\n\n| request | first attach | new configuration |\n| --- | --- | --- |\n", last.size)
	kinds := map[string]bool{}
	for _, w := range []work{last.Cold, last.Reconfigured} {
		for kind := range w.Requests {
			kinds[kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&t, "| %s | %.2f | %.2f |\n", kind, perPod(last.size, last.Cold.Requests[kind]), perPod(last.size, last.Reconfigured.Requests[kind]))
	}
	return t.String()
}

// figure is what a picture shows of a row, for test/bench/plots.
type figure struct {
	Plot, Name, Short string
	Goal              float64
	Points            []point
}

// point is the value of a fleet.
type point struct {
	Pods, Exporters int
	Value           float64
}

func figures(all []result) (figures []figure) {
	for _, row := range rows() {
		if row.plot == "" {
			continue
		}
		f := figure{Plot: row.plot, Name: row.name, Short: row.short, Goal: row.goal}
		for _, r := range all {
			if r.Others > 0 { // no point on a line of fleets
				continue
			}
			f.Points = append(f.Points, point{r.Pods, r.Exporters, row.value(r)})
		}
		figures = append(figures, f)
	}
	return figures
}
