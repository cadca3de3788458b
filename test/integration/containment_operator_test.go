package integration

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/rights"
)

// calls are requests to the API server.
type calls struct {
	mu   sync.Mutex
	seen rights.Calls
}

// wrap records the requests.
func (c *calls) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		verb, resource := callOf(r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if resource != "" {
			c.seen.Add(verb, resource, err == nil && response.StatusCode == http.StatusCreated)
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// callOf returns the verb and the resource of a request, as RBAC sees them.
func callOf(r *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch { // api/v1/… or apis/group/version/…
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "", "" // discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	resource = parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	switch r.Method {
	case http.MethodGet:
		verb = "get"
		if r.URL.Query().Get("watch") != "" {
			verb = "watch"
		} else if len(parts) == 1 {
			verb = "list"
		}
	case http.MethodPost:
		verb = "create"
	case http.MethodPut:
		verb = "update"
	default:
		verb = strings.ToLower(r.Method)
	}
	return verb, resource
}

// notSeen are rights that this story does not use.
var notSeen = map[string]string{
	"create endpointslices/restricted": "OpenShift asks for it where endpoints are addresses of pods",
	"patch events":                     "an Event that repeats itself",
	"create tokenreviews":              "who scrapes: TestMetricsEndpoint",
	"create subjectaccessreviews":      "whether they may: TestMetricsEndpoint",
}

// The operator as it is deployed, with its rights and under its policies: it attaches by
// both transports, also while the ConfigMap is invalid, changes the port, and detaches. It uses every right, and every
// request is covered by a rule.
func TestContainedOperator(t *testing.T) {
	c := contain(t, "default")
	seen := &calls{seen: rights.Calls{}}
	c.config.Wrap(seen.wrap)
	as, err := newClient(c.config)
	if err != nil {
		t.Fatal(err)
	}
	c.accept(policies.Commands{Current: artifacts.Command()})
	first := c.run(aPod("app-0"))
	c.enforce(func() bool {
		return c.executes("WebSocket", first, corev1.PodExecOptions{Container: "app", Command: []string{"id"}, Stdin: true, Stdout: true, Stderr: true}) != nil
	})
	second := c.run(aPod("app-1").withoutShell())

	o := c.operateAs(as, nil)
	byDoor, byExec := o.byTransport(as, records.New(apply.New(as, effects.Direct))), c.admitted(c.config)
	var held sync.RWMutex // no container is entered while it is locked
	helper := helperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		held.RLock()
		defer held.RUnlock()
		if in.Transport == v1alpha1.TransportEphemeralContainer {
			return byDoor.Run(ctx, in, verb, request, blobs...)
		}
		return byExec.Run(ctx, in, verb, request, blobs...)
	})
	mgr, err := manager.New(c.config, manager.Options{
		MetricsAddress: "0", HealthAddress: "0", Concurrent: 4, Seam: effects.Direct, LeaderElect: true, LeaderNamespace: c.namespace, Namespaces: []string{c.namespace},
		Sessions: func() attachment.Session { return perCall{helper} }, Limits: transport.NewLimits(4, 4, 4), Prober: c.containers.Prober(effects.Direct), Artifacts: artifacts,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	serves := func(port string) func() bool {
		return func() bool {
			o.startDoors()
			for _, pod := range []*corev1.Pod{first, second} {
				a := c.attachment(pod)
				if a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated || c.annotations(pod)[v1alpha1.AnnotationPort] != port {
					return false
				}
			}
			return true
		}
	}
	exporter := c.export("exporter")
	c.bind("writer", mayWrite, mayConfigure, mayExec)
	writer, err := newClient(impersonated(c.user("writer")))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { // with what the stamp adds
		return writer.Patch(t.Context(), exporter, patch(`{"spec":{"rollout":{"restartWindow":"0s"}},"metadata":{"annotations":{"`+
			v1alpha1.AnnotationRequester+`":"`+c.user("writer")+`","`+v1alpha1.AnnotationRequesterGroups+`":"[\"system:authenticated\"]"}}}`)) == nil
	})
	eventually(t, serves("9400"))
	if err := writer.Patch(t.Context(), exporter, patch(`{"spec":{"port":9500}}`)); err != nil {
		t.Fatal(err)
	}
	eventually(t, serves("9500"))
	c.configure("rules: {")
	c.restart(first)
	eventually(t, func() bool { return c.jvm(first).Running() && serves("9500")() })
	deleted := c.attachment(first)
	held.Lock() // a detach that ends before the record is deleted leaves none to recreate
	release := sync.OnceFunc(held.Unlock)
	defer release()
	remove(t, exporter)
	remove(t, deleted)
	eventually(t, func() bool { a := c.attachment(first); return a != nil && a.UID != deleted.UID })
	release()
	eventually(t, func() bool {
		o.startDoors()
		return c.attachment(first) == nil && c.attachment(second) == nil && c.annotations(first)[v1alpha1.AnnotationPort] == ""
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, wrong := range rights.Join(seen.seen, rights.Granted(c.rules), notSeen) {
		t.Error(wrong)
	}
}
