//go:build linux

package helper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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
	built, err := stockJar()
	if err != nil {
		t.Fatalf("agent/stock: %v", err)
	}
	content, err := os.ReadFile(built)
	if err != nil {
		t.Fatal(err)
	}
	// A container with a /tmp of its own does not see a checkout below /tmp.
	dir := t.TempDir()
	jar, config := filepath.Join(dir, filepath.Base(built)), filepath.Join(dir, "stock.yaml")
	if err := errors.Join(os.WriteFile(jar, content, 0o644), os.WriteFile(config, []byte(anyMBean), 0o644)); err != nil {
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
