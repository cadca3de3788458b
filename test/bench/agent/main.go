//go:build linux

// Command agent measures what this project's agent costs a JVM, beside the stock
// exporter: make bench-agent. Both are loaded into the same application, in turn,
// each time into a JVM of its own, so that what else the machine does hits both.
// The table goes to docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

func main() {
	var o options
	flag.StringVar(&o.jdks, "jdks", "17,25", "major `versions` of the JDKs to measure on")
	flag.StringVar(&o.series, "series", "100,10000,50000", "`numbers` of series to measure a scrape of")
	flag.IntVar(&o.rounds, "rounds", 7, "`number` of JVMs for each agent and size")
	flag.StringVar(&o.agent, "agent", "bin/agent", "`directory` of the agent's jars")
	flag.StringVar(&o.stock, "stock", "", "`jar` of the stock exporter")
	flag.StringVar(&o.page, "page", "", "`file` to write the table into; empty: print it only")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-agent:", err)
		os.Exit(1)
	}
}

type options struct {
	jdks, series, agent, stock, page string
	rounds                           int
}

func run(ctx context.Context, o options) error {
	sizes, err := numbers(o.series)
	if err != nil {
		return err
	}
	majors, err := numbers(o.jdks)
	if err != nil {
		return err
	}
	bench, err := newBench(ctx, o.agent, o.stock)
	if err != nil {
		return err
	}
	defer os.RemoveAll(bench.dir)

	var tables []string
	for _, major := range majors {
		jdk, err := findJDK(major)
		if err != nil {
			return err
		}
		results := map[int][]pair{}
		for round := range o.rounds {
			for _, series := range sizes {
				fmt.Fprintf(os.Stderr, "JDK %d, round %d of %d, %d series\n", major, round+1, o.rounds, series)
				p, err := bench.pair(ctx, jdk, subjectFor(series), round%2 == 1)
				if err != nil {
					return fmt.Errorf("JDK %d, %d series: %w", major, series, err)
				}
				results[series] = append(results[series], p)
			}
		}
		tables = append(tables, table(jdk, sizes, results))
	}
	text := heading(o.rounds) + strings.Join(tables, "\n") + "\n" + bench.jarsTable()
	fmt.Print(text)
	if o.page == "" {
		return nil
	}
	return report.Write(o.page, "bench-agent", text)
}

func numbers(list string) ([]int, error) {
	var out []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of numbers", list)
		}
		out = append(out, n)
	}
	return out, nil
}
