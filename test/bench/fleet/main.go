//go:build linux

// Command fleet measures what a fleet costs the operator: make bench-fleet. A real etcd and
// kube-apiserver run, and the operator as cmd/manager runs it, in a process of its own. The
// nodes are those of test/fakenode. The table goes to docs/scale.md, and the figures to a
// file, from which test/bench/plots draws.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

func main() {
	klog.SetLogger(logr.Discard()) // of streams that end
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if host := os.Getenv(operatorVariable); host != "" { // this process is the operator
		if err := operate(ctx, host); err != nil {
			fmt.Fprintln(os.Stderr, "the operator ended:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.StringVar(&o.sizes, "sizes", "500:1,2000:1,2000:100,5000:1:15000", "`fleets` to measure, separated by commas: pods:exporters, or pods:exporters:others with pods that no exporter selects")
	flag.IntVar(&o.shards, "shards", 600, "`pods` with which to compare one operator with two shards; 0 for no comparison")
	flag.DurationVar(&o.limit, "limit", 20*time.Minute, "time after which to leave out what is not measured")
	flag.StringVar(&o.page, "page", "", "`file` to write the table into; empty: print it only")
	flag.StringVar(&o.results, "results", "", "`file` to write the figures into, as JSON")
	flag.StringVar(&o.profiles, "profiles", "", "`directory` to write profiles of the operator into")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-fleet:", err)
		os.Exit(1)
	}
}

type options struct {
	sizes, page, results, profiles string
	limit                          time.Duration
	shards                         int
}

// size is a fleet: its pods are divided among the exporters, and there are others that no
// exporter selects.
type size struct{ Pods, Exporters, Others int }

// all is the number of all pods.
func (s size) all() int { return s.Pods + s.Others }

// pods says how many pods are attached to, and of how many if there are others.
func (s size) pods() string {
	if s.Others == 0 {
		return strconv.Itoa(s.Pods)
	}
	return fmt.Sprintf("%d of %d", s.Pods, s.all())
}

func (s size) String() string { return fmt.Sprintf("%s pods, %d exporters", s.pods(), s.Exporters) }

func run(ctx context.Context, o options) error {
	sizes, err := parse(o.sizes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	var shared sharing
	if o.shards > 0 {
		if shared, err = measureShards(ctx, o.shards); err != nil {
			return fmt.Errorf("shards: %w", err)
		}
	}
	var all []result
	for i, s := range sizes {
		begin := time.Now()
		r, err := measure(ctx, s, o.profiles)
		if ctx.Err() != nil && len(all) > 0 {
			fmt.Fprintf(os.Stderr, "left out after %s: %v\n", o.limit, sizes[i:])
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		fmt.Fprintf(os.Stderr, "%s: measured in %s\n", s, time.Since(begin).Round(time.Second))
		all = append(all, r)
		if err := write(all, shared, o); err != nil { // an interrupt leaves what has been measured
			return err
		}
	}
	fmt.Print(table(all, time.Now()), shared.text())
	return nil
}

func write(all []result, shared sharing, o options) error {
	if o.results != "" {
		content, err := json.MarshalIndent(struct {
			Figures []figure
			Results []result
			Shards  sharing
		}{figures(all), all, shared}, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.results, append(content, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.page == "" {
		return nil
	}
	return report.Write(o.page, "bench-fleet", table(all, time.Now())+shared.text())
}

func parse(list string) ([]size, error) {
	var sizes []size
	for field := range strings.SplitSeq(list, ",") {
		numbers := []int{0, 0, 0}
		parts := strings.Split(field, ":")
		for i, part := range parts {
			n, err := strconv.Atoi(part)
			if err != nil || len(parts) < 2 || len(parts) > len(numbers) {
				return nil, fmt.Errorf("%q is no fleet: want pods:exporters, or pods:exporters:others", field)
			}
			numbers[i] = n
		}
		s := size{numbers[0], numbers[1], numbers[2]}
		if s.Exporters < 1 || s.Pods < s.Exporters || s.Others < 0 {
			return nil, fmt.Errorf("%q is no fleet: want at least one pod for each exporter", field)
		}
		sizes = append(sizes, s)
	}
	return sizes, nil
}
