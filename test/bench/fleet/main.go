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
	flag.StringVar(&o.sizes, "sizes", "500:1,1000:1,1000:100", "`fleets` to measure: pods:exporters, separated by commas")
	flag.StringVar(&o.page, "page", "", "`file` to write the table into; empty: print it only")
	flag.StringVar(&o.results, "results", "", "`file` to write the figures into, as JSON")
	flag.StringVar(&o.profiles, "profiles", "", "`directory` to write profiles of the operator into")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-fleet:", err)
		os.Exit(1)
	}
}

type options struct{ sizes, page, results, profiles string }

// size is a fleet: its pods are divided among the exporters.
type size struct{ Pods, Exporters int }

func (s size) String() string { return fmt.Sprintf("%d pods, %d exporters", s.Pods, s.Exporters) }

func run(ctx context.Context, o options) error {
	sizes, err := parse(o.sizes)
	if err != nil {
		return err
	}
	var all []result
	for _, s := range sizes {
		begin := time.Now()
		r, err := measure(ctx, s, o.profiles)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		fmt.Fprintf(os.Stderr, "%s: measured in %s\n", s, time.Since(begin).Round(time.Second))
		all = append(all, r)
		if err := write(all, o); err != nil { // an interrupt leaves what has been measured
			return err
		}
	}
	fmt.Print(table(all, time.Now()))
	return nil
}

func write(all []result, o options) error {
	if o.results != "" {
		content, err := json.MarshalIndent(struct {
			Figures []figure
			Results []result
		}{figures(all), all}, "", "\t")
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
	return report.Write(o.page, "bench-fleet", table(all, time.Now()))
}

func parse(list string) ([]size, error) {
	var sizes []size
	for field := range strings.SplitSeq(list, ",") {
		pods, exporters, _ := strings.Cut(field, ":")
		p, err := strconv.Atoi(pods)
		if err != nil {
			return nil, fmt.Errorf("%q is no fleet: %w", field, err)
		}
		e, err := strconv.Atoi(exporters)
		if err != nil || e < 1 || p < e {
			return nil, fmt.Errorf("%q is no fleet: want pods:exporters, at least one pod for each", field)
		}
		sizes = append(sizes, size{p, e})
	}
	return sizes, nil
}
