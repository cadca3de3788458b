//go:build linux

package helper

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestIsStockPage(t *testing.T) {
	long := strings.Repeat("x", 10000)
	const headers = "Date: now\r\nContent-length: 20\r\n\r\n"
	for name, test := range map[string]struct {
		page string
		want bool
	}{
		"the health page of version 1":    {headers + "Exporter is healthy.\n", true},
		"the health page of version 0":    {headers + "Exporter is Healthy.", true},
		"the health page of the agent":    {"Jmx-exporter-identity: 1f\r\n" + headers + "Exporter is healthy.", false},
		"another health page":             {headers + "OK\n", false},
		"a sentence of another page":      {headers + "My exporter is healthy. Really.\n", false},
		"the metric of version 0.12":      {headers + "# HELP jmx_scrape_error Non-zero\njmx_scrape_error 0.0\n", true},
		"the metric without newline":      {"jmx_scrape_error 0.0", true},
		"the metric with labels":          {"jmx_scrape_error{a=\"b\"} 0.0\n", true},
		"the metric behind a long line":   {long + "\njmx_scrape_error 0\n", true},
		"the metric inside a long line":   {long[:8190] + "jmx_scrape_error 0\n", false},
		"the metric inside of its buffer": {long[:4096] + "jmx_scrape_error 0\n", false},
		"another metric":                  {"jmx_scrape_error_rate 0\nmy_jmx_scrape_error 0\n", false},
		"a comment":                       {"# HELP jmx_scrape_error Non-zero\n", false},
		"the name alone":                  {"jmx_scrape_error\n", false},
		"an empty page":                   {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := isStockPage(bufio.NewReader(strings.NewReader(test.page)))
			if got != test.want || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// Not every HTTP server is the stock exporter.
func TestAnswersAsStock(t *testing.T) {
	port := servesHealth(t)
	_, silent := listen(t)
	for port, test := range map[int32]struct {
		timeout time.Duration
		want    bool
	}{
		port:                {time.Minute, true},
		silent:              {50 * time.Millisecond, false},
		jvmtest.FreePort(t): {time.Minute, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
		defer cancel()
		if got := answersAsStock(ctx, port); got != test.want {
			t.Errorf("port %d: got %v", port, got)
		}
	}
}

// servesHealth is a server with the stock exporter's health page, and fails any other request.
func servesHealth(t *testing.T) int32 {
	t.Helper()
	listener, port := listen(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/-/healthy" {
			t.Errorf("%s was requested", r.URL.Path)
		}
		fmt.Fprintln(w, "Exporter is healthy.")
	})}
	go func() { _ = server.Serve(listener) }() // returns at Close
	t.Cleanup(func() { server.Close() })
	return port
}

// An application may have a Prometheus server of its own, with the same health page, and
// other servers that do not speak HTTP: these leave time to find that there are two.
func TestStockExporterBesideOwnServer(t *testing.T) {
	start, err := jvm.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self := jvm.Process{PID: os.Getpid(), StartTime: start}
	for range 8 {
		listen(t)
	}
	ask := func() []int32 {
		one, another := exporterIn{process: self, exporter: &helperapi.Exporter{}}, exporterIn{process: self, exporter: &helperapi.Exporter{}}
		askExporters(t.Context(), []exporterIn{one, another})
		return []int32{one.exporter.Port, another.exporter.Port}
	}
	port := servesHealth(t)
	if diff := cmp.Diff([]int32{port, port}, ask()); diff != "" {
		t.Errorf("ports of the exporters of two JVMs (-want +got):\n%s", diff)
	}
	servesHealth(t)
	if diff := cmp.Diff([]int32{0, 0}, ask()); diff != "" {
		t.Errorf("of two ports, one was taken for the exporter's (-want +got):\n%s", diff)
	}
}

// Two stock exporters of different versions can be in a JVM. If its options name their
// ports, either is one.
func TestTwoStockExporters(t *testing.T) {
	start, err := jvm.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self := jvm.Process{PID: os.Getpid(), StartTime: start}
	want := []int32{servesHealth(t), servesHealth(t)}
	for _, port := range want {
		self.JavaAgents = append(self.JavaAgents, jvm.JavaAgent{Jar: "/opt/jmx_prometheus_javaagent.jar", Options: fmt.Sprintf("%d:/config.yaml", port)})
	}
	in := exporterIn{process: self, exporter: &helperapi.Exporter{}}
	askExporters(t.Context(), []exporterIn{in})
	if got := in.exporter.Port; got != slices.Min(want) {
		t.Errorf("the exporter is at port %d, want the first of %d", got, want)
	}
}
