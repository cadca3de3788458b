//go:build linux

package helper

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// implementationLoader is the trampoline's class loader for implementations.
const implementationLoader = "com.banzaicloud.jmxexporter.agent.JarLoader"

// Unload does nothing to a JVM that never had our agent, whether or not files were staged
// for it.
func TestUnloadOfNothing(t *testing.T) {
	for name, stage := range map[string]bool{"nothing staged": false, "staged": true} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
			target := targetOf(t, app)
			if stage {
				stageAgent(t, nil, anyMBean, 0)
			}
			report := do(t, helperapi.VerbUnload, helperapi.Request{Target: target})
			wantReason(t, report, "")
			p := processOf(t, target)
			if p.HasSocket() {
				t.Error("somebody signaled: the attach socket is there")
			}
			wantNoDirectory(t)
			app.Unharmed()
		})
	}
}

// After unload, only the trampoline's classes remain in the JVM, as shown by a heap
// histogram.
func TestUnloadLeavesNothing(t *testing.T) {
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		cleanDirectory(t)
		app := jdk.Start(t, silentLoad)
		target := targetOf(t, app)
		p := processOf(t, target)
		threads := agentThreads(t, app.PID)
		desired := stageAgent(t, nil, anyMBean, jvmtest.FreePort(t))
		wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: desired}), "")
		wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: target, Desired: stageAgent(t, nil, otherConfig, desired.Port)}), "")
		if scrape(desired.Port) == "" || len(agentThreads(t, app.PID)) <= len(threads) {
			t.Errorf("there are no threads of the agent in %v", agentThreads(t, app.PID))
		}
		classes := ourInstances(t, app.PID)
		for _, class := range []string{"com.banzaicloud.jmxexporter.exporter.Exporter", implementationLoader} {
			if !slices.Contains(classes, class) {
				t.Errorf("the histogram does not show %s: %v", class, classes)
			}
		}

		wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
		if ports, err := p.ListeningPorts(); err != nil || slices.Contains(ports, desired.Port) {
			t.Errorf("listens on %v, %v", ports, err)
		}
		open, err := p.OpenFiles()
		if err != nil || slices.ContainsFunc(open, func(name string) bool { return strings.Contains(name, "/exporter-") }) {
			t.Errorf("has open: %v, %v", open, err)
		}
		app.Await("its threads are gone", func() bool { return cmp.Equal(threads, agentThreads(t, app.PID)) })
		app.Await("its instances are collected", func() bool { return len(ourInstances(t, app.PID)) == 0 })
		app.Unharmed()
	})
}

// ourInstances returns the classes of the implementation, and the class loader that
// defines them, that have instances: once the loader has none, the classes are unloaded.
// The histogram collects garbage first.
func ourInstances(t *testing.T, pid int) (classes []string) {
	t.Helper()
	const trampoline = "com.banzaicloud.jmxexporter.agent."
	out, err := exec.Command(filepath.Join(jvmtest.Need(t, 25).Home, "bin/jcmd"), strconv.Itoa(pid), "GC.class_histogram").Output()
	if err != nil {
		t.Fatalf("jcmd: %v\n%s", err, out)
	}
	line := regexp.MustCompile(`(?m)^ *\d+: +\d+ +\d+ +(?:\[+L)?(com\.banzaicloud\.jmxexporter\.[^;\s]+)`)
	for _, match := range line.FindAllStringSubmatch(string(out), -1) {
		if class := match[1]; class == implementationLoader || !strings.HasPrefix(class, trampoline) {
			classes = append(classes, class)
		}
	}
	return classes
}

// agentThreads returns the names of the threads of a process that the implementation or
// its HTTP server started, as far as the kernel keeps names.
func agentThreads(t *testing.T, pid int) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task/*/comm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		comm, err := os.ReadFile(file)
		name := strings.TrimSpace(string(comm))
		if err == nil && (strings.HasPrefix(name, "jmx-exp") || strings.HasPrefix(name, "HTTP-Dispatch") || strings.HasPrefix(name, "server-timer") || strings.HasPrefix(name, "idle-timeout")) {
			names = append(names, name)
		}
	}
	return names
}

// Files that JVMs share are kept until the last agent is unloaded.
func TestUnloadKeepsShared(t *testing.T) {
	cleanDirectory(t)
	jdk := jvmtest.Need(t, 17)
	one, other := jdk.Start(t, silentLoad), jdk.Start(t, silentLoad)
	port := jvmtest.FreePort(t)
	desired := stageAgent(t, nil, anyMBean, port)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, one), Desired: desired}), "")
	second := *desired
	second.Port = jvmtest.FreePort(t)
	wantReason(t, do(t, helperapi.VerbLoad, helperapi.Request{Target: targetOf(t, other), Desired: &second}), "")

	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, one)}), "")
	if got := strings.Join(names(t), " "); !strings.Contains(got, desired.Agent) || strings.Count(got, ".desired") != 1 {
		t.Errorf("left are %s", got)
	}
	if scrape(port) != "" || scrape(second.Port) == "" {
		t.Error("unload stopped the wrong agent")
	}
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, other)}), "")
	wantNoDirectory(t)
	one.Unharmed()
	other.Unharmed()
}

// wantNoDirectory checks that nothing of ours remains, including the agent directory.
func wantNoDirectory(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(helperapi.AgentDirectory); !os.IsNotExist(err) {
		t.Errorf("left is %s with %v, %v", helperapi.AgentDirectory, left, err)
	}
}

// Foreign files keep the agent directory, and a foreign directory in its place is kept.
func TestDirectoryStays(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	for _, name := range []string{"somebody's", "4000000-1.desired", "4000000-1.lock", ".config-0123456789ab.yaml.1-1.tmp"} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			stageAgent(t, nil, anyMBean, 0)
			leave(t, 0, name)
			wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: targetOf(t, app)}), "")
			if !slices.Contains(names(t), name) {
				t.Errorf("left are %v", names(t))
			}
		})
	}
	app.Unharmed()
}

// A helper that stages is not affected by another one that removes the directory.
func TestStageBesideUnload(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	target := targetOf(t, app)
	config := []byte(anyMBean)
	req := helperapi.Request{Files: []helperapi.File{helperapi.NewFile("config-", config, ".yaml")}}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if report := do(t, helperapi.VerbUnload, helperapi.Request{Target: target}); report.Error != nil {
					t.Error(report.Error)
				}
			}
		}
	})
	for range 1000 {
		wantReason(t, do(t, helperapi.VerbStage, req, config), "")
	}
	close(done)
	wg.Wait()
	wantReason(t, do(t, helperapi.VerbUnload, helperapi.Request{Target: target}), "")
	wantNoDirectory(t)
	app.Unharmed()
}
