// Package manager wires the operator: the cache, the watches, and the reconcilers.
// Access to containers is injected.
package manager

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/authority"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/crds"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/exporter"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/orphan"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podcache"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// name is the name of the Lease and of the Events' reporter.
const name = "jmx-exporter-operator"

// Options configure the manager.
type Options struct {
	// Namespaces are the namespaces to watch; all if empty.
	Namespaces []string
	// MetricsAddress and HealthAddress are the addresses to serve on; "0" disables
	// serving.
	MetricsAddress, HealthAddress string
	// MetricsSecure serves the metrics over TLS with MetricsCertificate, to clients that
	// may get /metrics.
	MetricsSecure      bool
	MetricsCertificate CertificateFiles
	// LeaderElect enables leader election; its Lease is in LeaderNamespace, or in the
	// pod's own namespace.
	LeaderElect     bool
	LeaderNamespace string
	// Shard is the operator's share of the namespaces; all by default.
	Shard shard.Shard
	// Lease has the times of leader election; 15, 10 and 2 seconds if it is zero.
	Lease LeaseTimes
	// Transport is the transport that the operator may use; all if it is empty or Auto.
	Transport v1alpha1.Transport
	// NodeAgents knows the node agents; nil if the operator uses none.
	NodeAgents attachment.NodeAgents
	// Concurrent is the maximum number of concurrently reconciled pods.
	Concurrent int

	// HealthCheckInterval is the interval of health checks of an endpoint; 0 disables
	// them.
	HealthCheckInterval time.Duration
	// Seam is passed through by all API writes.
	Seam effects.Seam
	// Sessions, Prober and Artifacts are dependencies of the steps; Limits limits the
	// Sessions.
	Sessions  attachment.Sessions
	Limits    attachment.Limits
	Prober    probe.Prober
	Artifacts *steps.Artifacts
	// Protection lists the pods that the operator does not attach to.
	Protection pod.Protection
	// IgnoreStamps ignores who wrote an exporter, where no policy records it (Stamps).
	IgnoreStamps bool
	// RequireRulesLabel rejects ConfigMaps without the label v1alpha1.LabelRules.
	RequireRulesLabel bool
	// MaxExporters is the number of exporters of a namespace that are attended to; 0 for all.
	MaxExporters int
	// Logs reads the logs of pods that do not run.
	Logs podlog.Logs
	// Clock is the time; the system's if nil.
	Clock clock.PassiveClock
}

// LeaseTimes are how long the Lease is valid, for how long the leader tries to renew it, and
// how often.
type LeaseTimes struct{ Duration, Deadline, Retry time.Duration }

// New returns a manager with all controllers, ready to start.
func New(config *rest.Config, o Options) (ctrl.Manager, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	definitions, err := crds.NewDefinitions()
	if err != nil {
		return nil, err
	}
	mgr, err := newManager(config, definitions, o)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, err
	}
	reader := cached.Reader{Reader: mgr.GetClient()}
	gate, err := newGate(mgr, definitions, o.Shard)
	if err != nil {
		return nil, err
	}
	writer := records.New(apply.New(mgr.GetClient(), o.Seam))
	sources := source.New(mgr.GetClient(), mgr.GetAPIReader(), o.Clock)
	sources.RequireLabel, sources.MaxExporters = o.RequireRulesLabel, o.MaxExporters
	reviews, err := authorizationv1.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	rights := authority.New(reviews, o.Seam, o.Clock)
	sources.Authority = rights
	logs := podlog.NewReader(o.Logs, o.Clock)
	if err := logs.Setup(mgr); err != nil {
		return nil, err
	}
	if err := (&exporter.Reconciler{
		Reader: reader, Live: mgr.GetAPIReader(), Writer: writer, Source: sources,
		Artifacts: o.Artifacts, Transport: o.Transport, Logs: logs,
		Recorder: mgr.GetEventRecorder(name), Clock: o.Clock,
	}).Setup(mgr, gate); err != nil {
		return nil, err
	}
	if err := (&orphan.Reconciler{
		Reader: cached.Snapshot(reader), Live: mgr.GetAPIReader(), Writer: writer, Clock: o.Clock,
	}).Setup(mgr, gate); err != nil {
		return nil, err
	}
	checker := health.New(o.Prober, o.HealthCheckInterval, o.Clock)
	if err := mgr.Add(checker); err != nil {
		return nil, err
	}
	return mgr, (&attachment.Reconciler{
		Reader: reader, Live: mgr.GetAPIReader(), Writer: writer, Source: sources,
		Artifacts: o.Artifacts, Transport: o.Transport, NodeAgents: o.NodeAgents, Sessions: o.Sessions, Limits: o.Limits, Prober: o.Prober, Health: checker,
		Protection: o.Protection, Authority: rights,
		Recorder: mgr.GetEventRecorder(name), Clock: o.Clock,
	}).Setup(mgr, gate, o.Concurrent)
}

// newManager returns a manager without controllers.
func newManager(config *rest.Config, definitions *crds.Definitions, o Options) (ctrl.Manager, error) {
	metrics, err := metricsOptions(o.MetricsAddress, o.MetricsSecure, o.MetricsCertificate)
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         cacheOptions(o, definitions),
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.Shard.LeaseName(name),
		LeaderElectionReleaseOnCancel: true,
		// Less than the pod's grace period, so that the Lease is released.
		GracefulShutdownTimeout: new(8 * time.Second),
		Client: client.Options{Cache: &client.CacheOptions{
			// A reconcile never gets a record older than the previous one's writes; of lists, see cached.Reader.
			EnableReadYourWritesConsistency: new(true),
		}},
		// The names are constants, and tests start several managers.
		Controller: controllerconfig.Controller{SkipNameValidation: new(true)},
	}
	lease := o.Lease
	if lease == (LeaseTimes{}) { // the defaults of controller-runtime
		lease = LeaseTimes{15 * time.Second, 10 * time.Second, 2 * time.Second}
	}
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &lease.Duration, &lease.Deadline, &lease.Retry
	if !o.LeaderElect {
		return ctrl.NewManager(limitWrites(config), options)
	}
	lock, err := newLock(config, o.LeaderNamespace, name, o.Shard, lease.Duration, lease.Deadline)
	if err != nil {
		return nil, err
	}
	options.LeaderElectionResourceLockInterface = lock
	mgr, err := ctrl.NewManager(limitWrites(config), options)
	if err != nil {
		return nil, err
	}
	// Leader election needs the API of corev1.Event, as controller-runtime's own lock does.
	lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor(lock.Identity()) //nolint:staticcheck // see above
	return mgr, nil
}

// cacheOptions minimizes what is cached of foreign objects.
func cacheOptions(o Options, definitions *crds.Definitions) cache.Options {
	exporters, err := labels.NewRequirement(v1alpha1.LabelExporterUID, selection.Exists, nil)
	utilruntime.Must(err)
	keep := definitions.KeepUnknown()
	if o.IgnoreStamps {
		keep = withoutStamps(keep)
	}
	ours := cache.ByObject{Label: labels.NewSelector().Add(*exporters)}
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                     {Transform: podcache.Pods()},
			&v1alpha1.JmxAttachment{}:         {Transform: podcache.Records()},
			&v1alpha1.PrometheusJmxExporter{}: {Transform: keep},
			&corev1.Service{}:                 ours,
			&discoveryv1.EndpointSlice{}:      ours,
			source.Metadata():                 {Transform: source.Trim},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if len(o.Namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range o.Namespaces {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}
