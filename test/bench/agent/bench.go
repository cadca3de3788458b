//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/test/bench/report"
)

// scrapes is how often a JVM is scraped. Times are of the second half, when the
// JVM has compiled most of what it will.
const scrapes = 20

// manySeries is the size from which half of that has to do, and a JVM that may
// compile by C2 has a larger heap.
const manySeries = 10000

// An agent is one way to have a JVM serve its MBeans.
type agent struct {
	name string
	jars []string
	// arguments are the jar to load and its options, to serve on the port.
	arguments func(port int) (jar, options string, err error)
}

// A bench has the two agents and what they are loaded into, in a directory that
// nobody else may write.
type bench struct {
	dir         string
	ours, stock agent
}

// A cost is what one agent cost one JVM.
type cost struct {
	loadCPU, firstCPU, scrapeCPU, scrapeTime time.Duration
	loadClasses, firstClasses                int64
	// Anonymous memory that the JVM has more than before the load, in bytes.
	loadMemory, scrapedMemory int64
	// idle is after the scrapes, in the smallest application only.
	idle idle
}

// A pair is what both cost one after the other.
type pair struct{ ours, stock cost }

func newBench(ctx context.Context, agentDir, stockJar string) (*bench, error) {
	dir, err := os.MkdirTemp("", "bench-agent-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir}
	for name, from := range map[string]string{
		"agent.jar":    filepath.Join(agentDir, "agent.jar"),
		"exporter.jar": filepath.Join(agentDir, "exporter.jar"),
		"stock.jar":    stockJar,
		"rules.yaml":   "test/bench/agent/subject/rules.yaml",
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(b.file(name), content, 0o644); err != nil {
			return nil, err
		}
	}
	b.ours = agent{"ours", []string{b.file("agent.jar"), b.file("exporter.jar")}, b.desire}
	b.stock = agent{"stock", []string{b.file("stock.jar")}, func(port int) (string, string, error) {
		return b.file("stock.jar"), fmt.Sprintf("%d:%s", port, b.file("rules.yaml")), nil
	}}
	out, err := exec.CommandContext(ctx, "javac", "--release", "8", "-Xlint:-options", "-d", dir, "test/bench/agent/subject/Subject.java").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("javac: %w: %s", err, out)
	}
	return b, nil
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// desire writes a desired file of docs/agent-protocol.md. The helper's other work
// is not measured: most of it is outside of the JVM.
func (b *bench) desire(port int) (string, string, error) {
	implementation, err := digest(b.file("exporter.jar"))
	if err != nil {
		return "", "", err
	}
	rules, err := digest(b.file("rules.yaml"))
	if err != nil {
		return "", "", err
	}
	desired := url.Values{
		"protocol": {"1"}, "state": {"running"}, "token": {fmt.Sprint(port)}, "port": {fmt.Sprint(port)},
		"implementation": {b.file("exporter.jar")}, "implementation.sha256": {implementation},
		"config": {b.file("rules.yaml")}, "config.sha256": {rules},
	}
	file := b.file(fmt.Sprintf("%d.desired", port))
	return b.file("agent.jar"), file, os.WriteFile(file, []byte(desired.Encode()), 0o644)
}

// freePort returns a TCP port that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", ":0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func digest(file string) (string, error) {
	content, err := os.ReadFile(file)
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), err
}

// pair measures both agents, the stock exporter first if reversed.
func (b *bench) pair(ctx context.Context, jdk jdk, s subject, reversed bool) (pair, error) {
	var p pair
	type job struct {
		agent agent
		cost  *cost
	}
	jobs := []job{{b.ours, &p.ours}, {b.stock, &p.stock}}
	if reversed {
		slices.Reverse(jobs)
	}
	for _, j := range jobs {
		var err error
		if *j.cost, err = b.measure(ctx, jdk, s, j.agent); err != nil {
			return p, fmt.Errorf("%s: %w", j.agent.name, err)
		}
	}
	return p, nil
}

// measure loads an agent into a fresh JVM, and scrapes it.
func (b *bench) measure(ctx context.Context, jdk jdk, s subject, a agent) (c cost, err error) {
	app, err := b.start(ctx, jdk, s)
	if err != nil {
		return c, err
	}
	defer app.stop()
	port, err := freePort(ctx)
	if err != nil {
		return c, err
	}
	jar, arguments, err := a.arguments(port)
	if err != nil {
		return c, err
	}

	before, err := app.look()
	if err != nil {
		return c, err
	}
	own, err := threads(app.pid)
	if err != nil {
		return c, err
	}
	if err := app.load(ctx, jar, arguments, port); err != nil {
		return c, err
	}
	loaded, err := app.look()
	if err != nil {
		return c, err
	}
	c.loadCPU, c.loadClasses, c.loadMemory = loaded.cpu-before.cpu, loaded.classes-before.classes, loaded.anonymous-before.anonymous

	scraper := newScraper(port, s.series)
	if _, err := scraper.scrape(ctx); err != nil {
		return c, err
	}
	first, err := app.look()
	if err != nil {
		return c, err
	}
	c.firstCPU, c.firstClasses = first.cpu-loaded.cpu, first.classes-loaded.classes

	if err := c.measureScrapes(ctx, app, scraper, s, before); err != nil {
		return c, err
	}
	if s.series < manySeries {
		c.idle, err = app.observeIdle(own)
	}
	return c, err
}

// measureScrapes scrapes a JVM as often as its size allows.
func (c *cost) measureScrapes(ctx context.Context, app *application, scraper *scraper, s subject, before state) error {
	count := scrapes
	if s.series >= manySeries {
		count /= 2
	}
	var times []time.Duration
	var half state
	for i := 1; i < count; i++ {
		if i == count/2 {
			var err error
			if half, err = app.look(); err != nil {
				return err
			}
		}
		took, err := scraper.scrape(ctx)
		if err != nil {
			return err
		}
		times = append(times, took)
	}
	last, err := app.look()
	if err != nil {
		return err
	}
	times = times[count/2-1:]
	c.scrapeTime = report.Median(times)
	c.scrapeCPU = (last.cpu - half.cpu) / time.Duration(len(times))
	c.scrapedMemory = last.anonymous - before.anonymous
	return nil
}

// load has the JVM load an agent, and returns when it listens on the port and has
// nothing more to do.
func (a *application) load(ctx context.Context, jar, arguments string, port int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	start, err := jvm.StartTime(a.pid)
	if err != nil {
		return err
	}
	process, err := jvm.Lookup(a.pid, start)
	if err != nil {
		return err
	}
	if err := process.Attach(ctx); err != nil {
		return err
	}
	if err := process.LoadAgent(ctx, jar, arguments); err != nil {
		return err
	}
	for {
		ports, err := process.ListeningPorts()
		if err != nil {
			return err
		}
		if slices.Contains(ports, int32(port)) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("nobody listens on port %d: %s", port, a.output())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
