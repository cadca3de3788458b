//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/bench/cputime"
)

// operatorVariable is the environment variable by which this program is an operator: it names
// the file with its setup.
const operatorVariable = "BENCH_FLEET_OPERATOR"

// setup is what an operator is started with.
type setup struct {
	// Host, CA, Cert and Key are how it reaches the API server.
	Host          string
	CA, Cert, Key []byte
	// QPS limits its requests, and Shard is its share of the namespaces.
	QPS   int
	Shard shard.Shard
}

// artifacts are not read by a JVM: what they contain does not matter.
var artifacts = &transport.Artifacts{
	Helpers: map[string]transport.Blob{
		"x86_64":  transport.NewBlob("jmx-attach-", []byte("helper of amd64"), ""),
		"aarch64": transport.NewBlob("jmx-attach-", []byte("helper of arm64"), ""),
	},
	Agent:          transport.NewBlob("agent-", []byte("agent"), ".jar"),
	Implementation: transport.NewBlob("exporter-", []byte("exporter"), ".jar"),
}

// operate runs the operator as cmd/manager does, with its limits, until ctx is done. It
// prints the address at which it serves its state.
func operate(ctx context.Context, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s setup
	if err := json.Unmarshal(content, &s); err != nil {
		return err
	}
	requests := &requests{of: map[string]int64{}}
	config := &rest.Config{Host: s.Host, QPS: float32(s.QPS), Burst: 2 * s.QPS, UserAgent: "jmx-exporter-operator"}
	config.CAData, config.CertData, config.KeyData = s.CA, s.Cert, s.Key
	config.Wrap(requests.through)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	limits := transport.NewLimits(16, 5, 12)
	exec := transport.NewExec(transport.NewStreams(config, clientset.CoreV1().RESTClient()), artifacts, requests.seam, limits)
	mgr, err := manager.New(config, manager.Options{
		MetricsAddress: "0", HealthAddress: "0", Concurrent: 96,
		Seam: requests.seam, Limits: limits, Artifacts: artifacts, Shard: s.Shard,
		Sessions: func() attachment.Session { return transport.NewSessions(exec) },
		Prober:   network{},
		Logs:     podlog.NewPodLogs(clientset.CoreV1(), requests.seam),
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/state", requests.state)
	mux.HandleFunc("/profile", pprof.Profile)
	mux.Handle("/heap", pprof.Handler("heap"))
	mux.Handle("/goroutine", pprof.Handler("goroutine"))
	go func() { _ = http.Serve(listener, mux) }()
	fmt.Println("http://" + listener.Addr().String())
	return mgr.Start(ctx)
}

// network is the one of the pods: all endpoints answer at once. Health checks, which ask
// each endpoint, are off.
type network struct{}

// Probe implements probe.Prober.
func (network) Probe(context.Context, string, *v1alpha1.JavaProcess) error { return nil }

// Answers implements probe.Prober.
func (network) Answers(context.Context, *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	return nil, nil
}

// requests counts those to the API server, by method and kind.
type requests struct {
	mu sync.Mutex
	of map[string]int64
}

func (r *requests) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[what]++
}

// seam counts execs: their streams have a transport of their own.
func (r *requests) seam(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
	if effect.Kind == effects.Exec {
		r.count("exec")
	}
	return do(ctx)
}

// transportFunc is a function that implements http.RoundTripper.
type transportFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *requests) through(next http.RoundTripper) http.RoundTripper {
	return transportFunc(func(request *http.Request) (*http.Response, error) {
		if what := kindOf(request); what != "" {
			r.count(what)
		}
		return next.RoundTrip(request)
	})
}

// kindOf returns method, resource and subresource of a request; empty for watches, discovery
// and execs, and for the exporter that only measures turns.
func kindOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.URL.Query().Has("watch") || len(parts) < 5 || parts[len(parts)-1] == "exec" {
		return ""
	}
	at := 4 // api/v1/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE
	if parts[0] == "apis" {
		at = 5
	}
	if len(parts) <= at || len(parts) > at+1 && (parts[at+1] == turnName || strings.HasPrefix(parts[at+1], turnName+"-jmx-")) {
		return ""
	}
	kind := r.Method + " " + parts[at]
	if len(parts) > at+2 {
		kind += "/" + parts[at+2]
	}
	return kind
}

// state is what the operator has done so far, and how much memory it needs.
type state struct {
	CPUSeconds float64
	Heap       uint64
	Requests   map[string]int64
	Reconciles map[string]float64
}

func (r *requests) state(w http.ResponseWriter, request *http.Request) {
	s := state{Requests: map[string]int64{}}
	if cpu, err := cputime.Of(os.Getpid()); err == nil {
		s.CPUSeconds = cpu.Seconds()
	}
	r.mu.Lock()
	maps.Copy(s.Requests, r.of)
	r.mu.Unlock()
	if request.URL.Query().Has("all") {
		s.Reconciles = reconciles()
		runtime.GC()
		runtime.GC() // what the first one has found unreachable, but for its finalizers
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.Heap = m.HeapAlloc
	}
	_ = json.NewEncoder(w).Encode(s)
}

// reconciles returns how many there were, by controller.
func reconciles() map[string]float64 {
	of := map[string]float64{}
	families, _ := metrics.Registry.Gather()
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" {
					of[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return of
}
