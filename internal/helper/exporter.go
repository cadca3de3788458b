//go:build linux

package helper

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const (
	// exportersTimeout limits the search for the ports of all stock exporters: a port that
	// does not speak HTTP never answers.
	exportersTimeout = 2 * time.Second

	// stockPath is the health page of the stock exporter. It is answered without a
	// collection, which may take longer than the timeouts: when a client disconnects
	// during one, version 1 prints a stack trace on the application's output.
	// Version 0.12 has no health page and serves the metrics at every path, here only
	// stockMetric.
	stockPath   = "/-/healthy?name%5B%5D=" + stockMetric
	stockMetric = "jmx_scrape_error"
	// stockHealth is the health page, whose case differs between versions.
	stockHealth = "exporter is healthy."
)

// stockExporter returns the stock exporter in a process, or nil. It is present if its jar
// is open, which it stays however the agent was loaded, or if the JVM was started with
// it.
func stockExporter(p jvm.Process, openFiles []string) *helperapi.Exporter {
	started := slices.ContainsFunc(p.JavaAgents, func(a jvm.JavaAgent) bool { return isStockJar(a.Jar) })
	if started || slices.ContainsFunc(openFiles, isStockJar) {
		return &helperapi.Exporter{}
	}
	return nil
}

func isStockJar(name string) bool {
	file := path.Base(name)
	return strings.HasPrefix(file, "jmx_prometheus_javaagent") && path.Ext(file) == ".jar"
}

// refuseBesideStock refuses a process that has the stock exporter and not our agent, and
// returns the exporter.
func refuseBesideStock(ctx context.Context, p jvm.Process) (*helperapi.Exporter, error) {
	openFiles, err := p.OpenFiles()
	if err != nil {
		return nil, err
	}
	exporter := stockExporter(p, openFiles)
	if exporter == nil || slices.ContainsFunc(openFiles, isAgentJar) {
		return nil, nil
	}
	askExporters(ctx, []exporterIn{{p, nil, exporter}})
	return exporter, helperapi.Errorf(helperapi.ReasonStockExporter, "The stock JMX exporter is in this JVM already; ours is not loaded beside it.")
}

// exporterIn is the stock exporter in one JVM, with the mark of our agent there, if any.
type exporterIn struct {
	process  jvm.Process
	mark     *helperapi.Mark
	exporter *helperapi.Exporter
}

// askExporters determines the ports of the exporters. All are asked at the same time, so
// that a port that never answers takes no time from the others.
func askExporters(ctx context.Context, exporters []exporterIn) {
	ctx, cancel := context.WithTimeout(ctx, exportersTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, in := range exporters {
		asking.Go(func() { in.exporter.Port = in.askPort(ctx) })
	}
	asking.Wait()
}

// askPort returns the port that answers like the exporter, the first one that the JVM's
// options name; 0 if none does, or several do that are not named: other Prometheus servers
// have the same health page.
//
// A node agent does not reach the exporter. It takes the first port of those that the options
// name on which the process listens.
func (in exporterIn) askPort(ctx context.Context) int32 {
	ports := in.candidates()
	if in.process.OnNode() {
		return first(ports)
	}
	answers := make([]bool, len(ports))
	var asking sync.WaitGroup
	for i, port := range ports {
		asking.Go(func() { answers[i] = answersAsStock(ctx, port) })
	}
	asking.Wait()
	found, named := slices.Index(answers, true), len(namedPorts(in.process.JavaAgents)) > 0
	if found < 0 || !named && slices.Contains(answers[found+1:], true) {
		return 0
	}
	return ports[found]
}

// stockArgument matches the stock exporter's [host:]port:file.
var stockArgument = regexp.MustCompile(`^(?:(?:[\w.-]+|\[.+\]):)?(\d{1,5}):`)

// candidates returns the ports to probe: those that the process itself listens on. An
// HTTP request may harm other protocols, so if the JVM's options name the exporter's
// port, only that one is probed; otherwise, if a debugger listens, whose port cannot be
// distinguished from the others, none is.
func (in exporterIn) candidates() []int32 {
	if !in.process.SharesNetwork() && !in.process.OnNode() {
		return nil
	}
	ports, err := in.process.ListeningPorts()
	if err != nil {
		return nil
	}
	named := namedPorts(in.process.JavaAgents)
	return slices.DeleteFunc(ports, func(port int32) bool {
		return in.mark != nil && in.mark.Port == port ||
			len(named) > 0 && !slices.Contains(named, port) ||
			len(named) == 0 && (in.process.Debugger || in.process.OnNode())
	})
}

// first returns the first port; 0 if there is none.
func first(ports []int32) int32 {
	if len(ports) == 0 {
		return 0
	}
	return ports[0]
}

// namedPorts returns the ports in the options of stock exporters.
func namedPorts(agents []jvm.JavaAgent) (ports []int32) {
	for _, agent := range agents {
		match := stockArgument.FindStringSubmatch(agent.Options)
		if !isStockJar(agent.Jar) || match == nil {
			continue
		}
		if port, err := strconv.ParseUint(match[1], 10, 16); err == nil {
			ports = append(ports, int32(port))
		}
	}
	return ports
}

// answersAsStock reports whether a port answers like the stock exporter.
func answersAsStock(ctx context.Context, port int32) bool {
	found := false
	err := getPage(ctx, helperapi.Endpoint{Port: port, Path: stockPath}, func(page *bufio.Reader) (err error) {
		found, err = isStockPage(page)
		return err
	})
	return err == nil && found
}

// isStockPage reads a response, and reports whether a line is stockHealth or begins with
// stockMetric. The operator's agent has the same health page, but identifies itself.
func isStockPage(page *bufio.Reader) (found bool, err error) {
	identity := []byte(strings.ToLower(helperapi.IdentityHeader + ":"))
	for begins := true; ; {
		line, err := page.ReadSlice('\n')
		if begins {
			text := bytes.ToLower(bytes.TrimSpace(line))
			if bytes.HasPrefix(text, identity) {
				return false, nil
			}
			rest, metric := bytes.CutPrefix(text, []byte(stockMetric))
			found = found || string(text) == stockHealth || metric && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '{')
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if begins = err == nil; err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
	}
}
