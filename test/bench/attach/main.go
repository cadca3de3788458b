//go:build linux

// Command attach measures what it takes to attach to 20 JVMs on a node: make bench.
// It compares the operator with other ways to the same end, in one run and in turn,
// each time with fresh pods, so that what else the machine does hits all. The tables
// go to docs/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

const help = `attach measures what it takes to attach to the JVMs of a node, on a kind cluster:
by the steps of the operator's ancestor, by one exec a pod, from the host, and by the
operator. It deploys an operator and applications into a namespace of its own, and
removes them again, also when it is interrupted.

  make bench                    everything, on the cluster of make cluster-up
  make bench BENCH="-pods 3 -rounds 1"
                                a quick look; less than the whole is never written
                                into the page

It takes the images in the cluster, and the helper and the agent's jars in bin, as
they are; make bench makes and loads them before.

Flags:
`

type options struct {
	pods, rounds, parallel      int
	page, stock, operator, ways string
}

// What a whole run is: its tables are those of docs/performance.md.
const (
	allWays                = "abcdefgh"
	wholePods, wholeRounds = 20, 3
)

// whole reports whether everything is measured, as often as the page says.
func (o options) whole() bool {
	return o.ways == allWays && o.pods >= wholePods && o.rounds >= wholeRounds
}

func main() {
	var o options
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), help); flag.PrintDefaults() }
	flag.IntVar(&o.pods, "pods", wholePods, "`number` of pods, with one JVM each")
	flag.IntVar(&o.rounds, "rounds", wholeRounds, "`number` of times that each way is measured")
	flag.IntVar(&o.parallel, "parallel", 4, "`number` of pods that each way but the operator works on at once")
	flag.StringVar(&o.ways, "ways", allWays, "`letters` of the ways to measure: the ancestor's, one exec, the floor, the operator by exec, the same with one pod, by ephemeral containers, by node agent, the same with one pod")
	flag.StringVar(&o.stock, "stock", "", "`jar` of the stock exporter; empty: what agent/stock fetches")
	flag.StringVar(&o.operator, "operator", "", "`image` of the operator; empty: the one of config/manager")
	flag.StringVar(&o.page, "page", "", "`file` to write the tables of a whole run into; empty: print them only")
	inside := flag.Bool(insideFlag, false, "serve the bench inside a node, on standard input and output; not for people")
	flag.Parse()
	if *inside {
		fail(serveInside())
		return
	}
	// The second signal ends it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	fail(run(ctx, o))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// say reports progress.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, o options) (err error) {
	ways, err := waysOf(o.ways)
	if err != nil {
		return err
	}
	if o.pods < 1 || o.rounds < 1 || o.parallel < 1 {
		return errors.New("-pods, -rounds and -parallel must be 1 or more")
	}
	files, err := readArtifacts(ctx, o.stock)
	if err != nil {
		return err
	}
	b := &bench{options: o, artifacts: files}
	defer b.clean(&err)
	if err := b.deploy(ctx); err != nil {
		return err
	}
	results := map[string][]result{}
	for round := range o.rounds {
		for _, w := range ways {
			say("round %d of %d: %s", round+1, o.rounds, w.name)
			r, err := b.measure(ctx, w)
			if err != nil {
				fmt.Print(tables(o, results)) // so far
				return fmt.Errorf("%s: %w", w.name, err)
			}
			say("%s", r)
			results[w.letter] = append(results[w.letter], r)
		}
	}
	text := tables(o, results)
	fmt.Print(text)
	if o.page == "" {
		return nil
	}
	if !o.whole() {
		say("%s stays as it is: this was not a whole run", o.page)
		return nil
	}
	return report.Write(o.page, "bench", text)
}
