//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTables(t *testing.T) {
	took := func(seconds ...int) (results []result) {
		for _, s := range seconds {
			results = append(results, result{
				pods: 10, took: time.Duration(s) * time.Second,
				cpu:     usage{jvms: 5 * time.Second, container: time.Second, containerd: 2 * time.Second, attacher: time.Second},
				counts:  counts{applies: 80, events: 20, execs: 10, sent: 45000},
				granted: time.Duration(s) * time.Second / 20,
			})
		}
		return results
	}
	text := tables(options{pods: 10, rounds: 3, parallel: 4}, map[string][]result{
		"a": took(20, 40, 60), "c": took(10, 10, 10), "d": took(10, 16, 20), "e": took(10, 16, 20), "f": took(20, 20, 20), "g": took(10, 10, 15), "h": took(4, 6, 8),
	})
	for name, want := range map[string]string{
		"a ratio of speeds, round by round": "| exec against the ancestor's steps, pods a second | 2.50 (2.00 to 3.00) | 2 | met |\n",
		"a ratio of times":                  "| node agent against the floor, time | 1.00 (1.00 to 1.50) | 1.3 | met |\n",
		"the sum of CPU":                    "| exec: CPU outside the JVM, s a pod | 0.40 (0.40 to 0.40) | 0.3 | **missed** |\n",
		"counts":                            "| exec: applies a pod, cold | 8.0 (8.0 to 8.0) | 5 | **missed** |\n",
		"one pod alone":                     "until it is Annotated, s | 0.30 (0.20 to 0.40) | 0.35 | met |\n",
		"a column for each way":             "| | the ancestor's steps by kubectl | the floor, from the host | the operator, exec | the operator, ephemeral containers | the operator, node agent |\n",
		"a cell for each":                   "| pods a second | 0.25 (0.17 to 0.50) | 1.00 (1.00 to 1.00) | 0.62 (0.50 to 1.00) | 0.50 (0.50 to 0.50) | 1.00 (0.67 to 1.00) |\n",
		"bytes":                             "| through the API server on exec streams, kB a pod | 4.5 (4.5 to 4.5) |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the tables lack %q:\n%s", name, want, text)
		}
	}
}

func TestWhatIsUsedWhenIdleDoesNotCount(t *testing.T) {
	at := time.Now()
	reading := func(after time.Duration, used time.Duration) reading {
		return read(Spent{At: at.Add(after), Node: 10 * used, Pods: 4 * used, Applications: 3 * used, Java: 2 * used, Kubelet: used, Self: used},
			Spent{Node: 2 * used, Self: used}, used)
	}
	idle := reading(time.Second, 10*time.Millisecond).rate(reading(0, 0))
	got := reading(3*time.Second, 1010*time.Millisecond).minus(reading(2*time.Second, 0), idle)
	want := usage{
		jvms: 2 * time.Second, container: time.Second, containerd: 4 * time.Second,
		kubelet: time.Second, controlPlane: time.Second, attacher: 2 * time.Second,
	}
	round := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond })
	if diff := cmp.Diff(want, got, round, cmp.AllowUnexported(usage{})); diff != "" {
		t.Error(diff)
	}
}

func TestEffectsOf(t *testing.T) {
	const metrics = `# TYPE jmx_exporter_operator_effects_total counter
jmx_exporter_operator_effects_total{kind="apply",result="error"} 1
jmx_exporter_operator_effects_total{kind="apply",result="success"} 140
jmx_exporter_operator_effects_total{kind="exec",result="success"} 20
jmx_exporter_operator_exec_bytes_total{direction="received"} 7
jmx_exporter_operator_exec_bytes_total{direction="sent"} 4.2e+06
`
	if got := sumOf(metrics, `exec_bytes_total{direction="sent"}`); got != 4.2e6 {
		t.Errorf("%v bytes were sent", got)
	}
	for kind, want := range map[string]float64{"apply": 141, "exec": 20, "logs": 0} {
		if got := effectsOf(metrics, kind); got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

func TestProcessID(t *testing.T) {
	for name, test := range map[string]struct {
		listed, want string
		fails        bool
	}{
		"the application": {listed: "1 dummyapp.jar\n42 Jps\n", want: "1"},
		"listed second":   {listed: "42 Jps\n1 dummyapp.jar\n", want: "1"},
		"jps alone":       {listed: "42 Jps\n", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := processID(test.listed)
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// A run that measures less than the whole does not replace the tables of the page.
func TestWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		options options
		want    bool
	}{
		"the defaults are a whole run":         {options{ways: allWays, pods: wholePods, rounds: wholeRounds}, true},
		"more pods and rounds are a whole run": {options{ways: allWays, pods: 40, rounds: 5}, true},
		"one way is not":                       {options{ways: "e", pods: wholePods, rounds: wholeRounds}, false},
		"fewer pods are not":                   {options{ways: allWays, pods: 1, rounds: wholeRounds}, false},
		"fewer rounds are not":                 {options{ways: allWays, pods: wholePods, rounds: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.options.whole(); got != tc.want {
				t.Errorf("whole run: %t, want %t", got, tc.want)
			}
		})
	}
}
