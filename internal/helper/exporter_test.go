//go:build linux

package helper

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// stockJar returns the path of the stock exporter, which is downloaded if it is missing.
var stockJar = sync.OnceValues(func() (string, error) {
	root, err := jvmtest.ModuleRoot()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(root, "agent/stock")).Output()
	return strings.TrimSpace(string(out)), err
})

// stock returns the stock exporter's jar and the options to load it with.
func stock(t *testing.T, port int32) (jar, options string) {
	t.Helper()
	jar, err := stockJar()
	if err != nil {
		t.Fatalf("agent/stock: %v", err)
	}
	config := filepath.Join(t.TempDir(), "stock.yaml")
	if err := os.WriteFile(config, []byte(anyMBean), 0o644); err != nil {
		t.Fatal(err)
	}
	return jar, fmt.Sprintf("%d:%s", port, config)
}

// attachStock loads the stock exporter into a running JVM, as a person would do.
func attachStock(t *testing.T, app *jvmtest.Process, port int32) {
	t.Helper()
	p := processOf(t, targetOf(t, app))
	if err := p.Attach(t.Context()); err != nil {
		t.Fatal(err)
	}
	jar, options := stock(t, port)
	if err := p.LoadAgent(t.Context(), jar, options); err != nil {
		t.Fatal(err)
	}
}

// inspected returns the only process that an inspection finds.
func inspected(t *testing.T, req helperapi.Request) helperapi.Process {
	t.Helper()
	report := do(t, helperapi.VerbInspect, req)
	wantReason(t, report, "")
	if len(report.Processes) != 1 {
		t.Fatalf("found %+v, want one process", report.Processes)
	}
	return report.Processes[0]
}

// An inspection does not wait for a slow collection of the stock exporter, which prints
// a stack trace on the application's output when a client disconnects meanwhile.
func TestStockExporterSlow(t *testing.T) {
	port := jvmtest.FreePort(t)
	jar, options := stock(t, port)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-javaagent:" + jar + "=" + options}})
	app.Tell("slow")
	for range 3 {
		if diff := cmp.Diff(&helperapi.Exporter{Port: port}, inspected(t, helperapi.Request{}).Exporter); diff != "" {
			t.Errorf("exporter (-want +got):\n%s", diff)
		}
	}
	if page := scrape(port); !strings.Contains(page, "app_Slow_Value 1.0") { // ends after what an inspection began
		t.Errorf("the stock exporter serves %q", page)
	}
	app.Unharmed()
}

// awaitExporter waits until an inspection finds a stock exporter: its first scrape may
// take longer than an inspection waits.
func awaitExporter(t *testing.T, app *jvmtest.Process, want *helperapi.Exporter) {
	t.Helper()
	app.Await(fmt.Sprintf("inspect finds %+v", *want), func() bool { return cmp.Equal(want, inspected(t, helperapi.Request{}).Exporter) })
}

// The stock exporter is found regardless of how it was loaded, and our agent is not
// loaded beside it.
func TestStockExporter(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.WithTools, func(t *testing.T, jdk jvmtest.JDK) {
		for name, start := range map[string]func(t *testing.T, port int32) *jvmtest.Process{
			"option": func(t *testing.T, port int32) *jvmtest.Process {
				jar, options := stock(t, port)
				return jdk.Start(t, jvmtest.Options{Args: []string{"-javaagent:" + jar + "=" + options}})
			},
			"environment": func(t *testing.T, port int32) *jvmtest.Process {
				jar, options := stock(t, port)
				return jdk.Start(t, jvmtest.Options{Env: []string{"JAVA_TOOL_OPTIONS=-javaagent:" + jar + "=localhost:" + options}})
			},
			"attached by hand": func(t *testing.T, port int32) *jvmtest.Process {
				app := jdk.Start(t, silentLoad)
				attachStock(t, app, port)
				return app
			},
		} {
			t.Run(name, func(t *testing.T) {
				cleanDirectory(t)
				port := jvmtest.FreePort(t)
				app := start(t, port)
				awaitExporter(t, app, &helperapi.Exporter{Port: port})
				req := staged(t, app)
				report := do(t, helperapi.VerbLoad, req)
				wantReason(t, report, helperapi.ReasonStockExporter)
				if p := report.Processes[0]; p.AgentJarOpen || p.Mark != nil || p.Exporter == nil {
					t.Errorf("loaded beside it, or did not say that it is there: %+v", p)
				}
				if scrape(req.Desired.Port) != "" || scrape(port) == "" {
					t.Error("not the stock exporter serves")
				}
				app.Unharmed()
			})
		}
	})
}

// An excluded process is not probed; what is found without a probe is reported.
func TestStockExporterExcluded(t *testing.T) {
	jar, options := stock(t, jvmtest.FreePort(t))
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-javaagent:" + jar + "=" + options}})
	p := inspected(t, helperapi.Request{Rules: []helperapi.ProcessRule{{Action: helperapi.RuleExclude}}})
	if diff := cmp.Diff(&helperapi.Exporter{}, p.Exporter); diff != "" || !p.Excluded {
		t.Errorf("exporter (-want +got):\n%s", diff)
	}
	app.Unharmed()
}

// The debugger's port is not probed: JDWP would print an error on the application's
// output.
func TestStockExporterBesideDebugger(t *testing.T) {
	for name, test := range map[string]struct {
		option bool // the stock exporter is loaded by -javaagent
		found  bool // its port is found
	}{
		"started with the JVM": {true, true},
		"attached by hand":     {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			port := jvmtest.FreePort(t)
			o := jvmtest.Options{Args: []string{"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,quiet=y,address=127.0.0.1:0"}}
			if test.option {
				jar, options := stock(t, port)
				o.Args = append(o.Args, "-javaagent:"+jar+"="+options)
			}
			app := jvmtest.Need(t, 17).Start(t, o)
			if !test.option {
				attachStock(t, app, port)
			}
			want := &helperapi.Exporter{}
			if test.found {
				want.Port = port
			}
			awaitExporter(t, app, want)
			app.Unharmed()
		})
	}
}

// If our agent is already in a JVM, it is reconfigured regardless of other agents.
func TestStockExporterBesideOurs(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, silentLoad)
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), "")
	port := jvmtest.FreePort(t)
	attachStock(t, app, port)
	req.Desired = stageAgent(t, nil, otherConfig, req.Desired.Port)
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	awaitExporter(t, app, &helperapi.Exporter{Port: port}) // and not our agent's
	app.Unharmed()
}

func TestIsStockJar(t *testing.T) {
	for name, want := range map[string]bool{
		"/opt/jmx_prometheus_javaagent-1.0.1.jar":            true,
		"jmx_prometheus_javaagent.jar":                       true,
		"/a/jmx_prometheus_javaagent_java6.jar":              true,
		"/a/jmx_prometheus_httpserver.jar":                   false,
		"/a/jmx_prometheus_javaagent/other.jar":              false,
		"/a/jmx_prometheus_javaagent.yaml":                   false,
		helperapi.AgentDirectory + "/agent-0123456789ab.jar": false,
		"": false,
	} {
		if got := isStockJar(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

func TestNamedPorts(t *testing.T) {
	const jar = "/opt/jmx_prometheus_javaagent-1.0.1.jar"
	for options, want := range map[string][]int32{
		"9404:/config.yaml":           {9404},
		"localhost:9404:/config.yaml": {9404},
		"[::1]:9404:/config.yaml":     {9404},
		"70000:/config.yaml":          nil,
		"/config.yaml":                nil,
		"":                            nil,
	} {
		if diff := cmp.Diff(want, namedPorts([]jvm.JavaAgent{{Jar: "/other.jar", Options: "1:x"}, {Jar: jar, Options: options}})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", options, diff)
		}
	}
}

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
