package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// operatorVariable is the environment variable by which this program is an operator.
const operatorVariable = "FAULTS_OPERATOR"

// operatorSpec is the configuration of the operator of a plan.
type operatorSpec struct {
	// Host is the API server, as the operator reaches it.
	Host      string
	Namespace string
	// Elected makes the operator a leader first, whose Lease is in the namespace.
	Elected bool
	// Ahead is how far its clock is ahead of the true time.
	Ahead time.Duration
	// Previous makes it the operator of the previous release.
	Previous bool
	// Wrong is a rule that it breaks.
	Wrong wrong
	// Strike is where this operator meets a fault; nil for nowhere.
	Strike *strike
}

// leaseTimes let a leader notice within seconds that its Lease is lost, and not lose it on a
// busy machine.
var leaseTimes = manager.LeaseTimes{Duration: 6 * time.Second, Deadline: 4 * time.Second, Retry: 500 * time.Millisecond}

// artifacts have arbitrary content: no JVM reads them. Their sizes make a stream long
// enough to cut within each of them.
var artifacts = &transport.Artifacts{
	Helpers: map[string]transport.Blob{
		"x86_64":  transport.NewBlob("jmx-attach-", filled("amd64", 1500), ""),
		"aarch64": transport.NewBlob("jmx-attach-", filled("arm64", 1500), ""),
	},
	Agent:          transport.NewBlob("agent-", filled("agent", 1000), ".jar"),
	Implementation: transport.NewBlob("exporter-", filled("exporter", 2000), ".jar"),
}

func filled(with string, size int) []byte { return []byte(strings.Repeat(with, size)[:size]) }

// operate runs the operator as cmd/manager does, in this process, until a signal or a fault
// ends it.
func operate(encoded string) error {
	var spec operatorSpec
	if err := json.Unmarshal([]byte(encoded), &spec); err != nil {
		return err
	}
	config := &rest.Config{Host: spec.Host, QPS: 100, Burst: 200, UserAgent: "jmx-exporter-operator"}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	seam := spec.Strike.seam()
	limits := transport.NewLimits(16, 5, 12)
	exec := transport.NewExec(transport.NewStreams(config, clientset.CoreV1().RESTClient()), artifacts, seam, limits)
	mgr, err := manager.New(config, manager.Options{
		Namespaces: []string{spec.Namespace}, MetricsAddress: "0", HealthAddress: "0", Concurrent: 96,
		LeaderElect: spec.Elected, LeaderNamespace: spec.Namespace, Lease: leaseTimes,
		Seam: seam, Limits: limits, Artifacts: artifacts,
		Sessions: func() attachment.Session { return transport.NewSessions(exec) },
		Prober:   prober{spec.Host, seam},
		Logs:     podlog.NewPodLogs(clientset.CoreV1(), seam),
		Clock:    ahead(spec.Ahead),
	})
	if err != nil {
		return err
	}
	return mgr.Start(spec.Wrong.begin(ctrl.SetupSignalHandler(), clientset, spec.Namespace))
}

// ahead is a clock that is ahead of the true time, or behind it.
type ahead time.Duration

// Now implements clock.PassiveClock.
func (a ahead) Now() time.Time { return time.Now().Add(time.Duration(a)) }

// Since implements clock.PassiveClock.
func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

// prober asks the proxy for the endpoints of pods, whose addresses no network leads to.
type prober struct {
	host string
	seam effects.Seam
}

// probePath is where the proxy answers for endpoints.
const probePath = "/fakenode/endpoint"

// Probe implements probe.Prober.
func (p prober) Probe(ctx context.Context, address string, process *v1alpha1.JavaProcess) error {
	effect := effects.Effect{Kind: effects.HTTP, What: "probe", On: fmt.Sprintf("%s:%d", address, process.Port)}
	err := p.seam(ctx, effect, func(ctx context.Context) error { return p.get(ctx, address, process.Port) })
	if err != nil {
		return &transport.Error{Reason: v1alpha1.ReasonEndpointNotServing, Message: "The endpoint cannot be reached.", Err: err}
	}
	return nil
}

// Answers implements probe.Prober.
func (p prober) Answers(ctx context.Context, process *v1alpha1.JavaProcess) (*helperapi.Notices, error) {
	return nil, p.get(ctx, process.Endpoint.Address, process.Endpoint.Port)
}

func (p prober) get(ctx context.Context, address string, port int32) error {
	query := url.Values{"address": {address}, "port": {strconv.Itoa(int(port))}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.host+probePath+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", probe.ErrUnreachable, response.Status)
	}
	return nil
}
