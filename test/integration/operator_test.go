package integration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/authority"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/exporter"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// operator is one instance of the operator, whose reconcilers the test calls. It records
// its effects.
type operator struct {
	*cluster
	exporters   reconcile.Reconciler
	attachments reconcile.Reconciler
	health      *health.Checker
	logs        *podlog.Reader
	events      *recorder

	mu      sync.Mutex
	effects []effects.Effect
	// fate, if set, performs an effect or makes it fail; n counts from 0. JmxAttachments are
	// written concurrently, but fate is called for one effect at a time.
	fate func(n int, effect effects.Effect, do func() error) error
	one  sync.Mutex
}

// artifacts have arbitrary content: no JVM reads them.
var artifacts = &transport.Artifacts{
	Helpers: map[string]transport.Blob{
		"x86_64":  transport.NewBlob("jmx-attach-", []byte("amd64"), ""),
		"aarch64": transport.NewBlob("jmx-attach-", []byte("arm64"), ""),
	},
	Agent:          transport.NewBlob("agent-", []byte("agent"), ".jar"),
	Implementation: transport.NewBlob("exporter-", []byte("exporter"), ".jar"),
}

// operate starts an operator that acts as an administrator, with scripted
// containers.
func (c *cluster) operate() *operator { return c.operateAs(admin, nil) }

// operateAs starts an operator with a client, and a helper other than the scripted
// containers if it is not nil.
func (c *cluster) operateAs(as client.Client, helper transport.Helper) *operator {
	o := &operator{cluster: c, events: &recorder{}}
	reader := cached{as}
	writer := records.New(apply.New(as, o.seam))
	if helper == nil {
		helper = o.byTransport(as, writer)
	}
	configs := source.New(as, as, c.clock)
	configs.RequireLabel = c.requireLabel
	rights := authority.New(clientsetOf(c.t, config).AuthorizationV1(), o.seam, c.clock)
	configs.Authority = rights
	asks := c.containers.Prober(o.seam)
	o.health = health.New(asks, c.listenEvery, c.clock)
	o.exporters = &exporter.Reconciler{Reader: reader, Live: as, Writer: writer, Source: configs, Artifacts: c.artifacts, Recorder: o.events, Clock: c.clock}
	o.tell(nil)
	o.attachments = &attachment.Reconciler{
		Reader: reader, Live: as, Writer: writer, Source: configs, Recorder: o.events, Clock: c.clock, Artifacts: c.artifacts,
		Sessions: func() attachment.Session { return perCall{helper} }, Limits: transport.NewLimits(64, 64, 64), Prober: asks, Health: o.health, Protection: c.protection,
		Authority: rights,
	}
	if c.nodeAgents != nil {
		o.attachments.(*attachment.Reconciler).NodeAgents = c.nodeAgents
	}
	return o
}

// perCall is a Session of scripted containers, which need none.
type perCall struct{ transport.Helper }

// Open implements attachment.Session.
func (perCall) Open(context.Context, transport.Container) error { return nil }

// Close implements attachment.Session.
func (perCall) Close() {}

func (o *operator) seam(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
	o.mu.Lock()
	n := len(o.effects)
	o.effects = append(o.effects, effect)
	o.mu.Unlock()
	perform := func() error {
		err := do(ctx)
		o.checkWritten(effect)
		return err
	}
	if o.fate == nil {
		return perform()
	}
	o.one.Lock()
	defer o.one.Unlock()
	return o.fate(n, effect, perform)
}

// checkWritten checks a status that was just written.
func (o *operator) checkWritten(effect effects.Effect) {
	var object client.Object
	switch effect.What {
	case string(records.OwnerAttachmentStatus):
		object = &v1alpha1.JmxAttachment{}
	case string(records.OwnerExporterStatus):
		object = &v1alpha1.PrometheusJmxExporter{}
	default:
		return
	}
	namespace, name, _ := strings.Cut(effect.On, "/")
	object.SetNamespace(namespace)
	object.SetName(name)
	if get(o.t, object) {
		o.checker.check(o.t, object)
	}
}

// did returns the effects since the previous call.
func (o *operator) did() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var did []string
	for _, effect := range o.effects {
		did = append(did, described(effect))
	}
	o.effects = nil
	return did
}

// doorName matches the name of an ephemeral container, which has a digest of the container's
// ID: it differs from run to run.
var doorName = regexp.MustCompile(`jmx-exporter-door-[0-9a-f]+`)

// described is an effect in the form of TestCrash's stories.
func described(e effects.Effect) string {
	return fmt.Sprintf("%s %s", e.Kind, doorName.ReplaceAllString(e.What, "jmx-exporter-door"))
}

func (o *operator) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.effects)
}

// settle reconciles everything until there are no more effects, as the watches would,
// and returns when the operator wants to reconcile next without an event;
// 0 for never.
func (o *operator) settle() time.Duration {
	o.t.Helper()
	o.later(time.Second) // otherwise a changed time in a status would go unnoticed
	var err error
	for range 40 {
		before := o.count()
		var again time.Duration
		if again, err = o.round(); err == nil && o.count() == before {
			return again
		}
	}
	o.t.Fatalf("the operator does not settle; last error: %v; effects: %q", err, o.did())
	return 0
}

// round reconciles every exporter and every attachment once.
func (o *operator) round() (again time.Duration, err error) {
	o.t.Helper()
	var failed []error
	run := func(r reconcile.Reconciler, object client.Object) {
		result, err := r.Reconcile(o.t.Context(), requestFor(object))
		if err != nil {
			failed = append(failed, err)
		}
		if result.RequeueAfter > 0 && (again == 0 || result.RequeueAfter < again) {
			again = result.RequeueAfter
		}
	}
	o.startDoors()
	var exporters v1alpha1.PrometheusJmxExporterList
	o.list(&exporters)
	for i := range exporters.Items {
		run(o.exporters, &exporters.Items[i])
	}
	if o.readLogs() { // then the exporters are reconciled again
		for i := range exporters.Items {
			run(o.exporters, &exporters.Items[i])
		}
	}
	o.health.CheckDue(o.t.Context())
	var attachments v1alpha1.JmxAttachmentList
	o.list(&attachments)
	for i := range attachments.Items {
		run(o.attachments, &attachments.Items[i])
	}
	return again, errors.Join(failed...)
}

func requestFor(object client.Object) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}

// outlast settles repeatedly, each time when a reconciliation is due, until none is.
// Errors are retried, as the queue does.
func (o *operator) outlast() {
	o.t.Helper()
	var err error
	for range 60 {
		before := o.count()
		var again time.Duration
		again, err = o.round()
		if err == nil && o.count() == before {
			if again == 0 {
				return
			}
			o.later(again)
		}
	}
	o.t.Fatalf("the operator does not settle; last error: %v; effects: %q", err, o.did())
}

// tire settles until everything temporary was waited for.
func (o *operator) tire() {
	o.t.Helper()
	for range 6 {
		o.later(o.settle())
	}
}
