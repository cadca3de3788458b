package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/attachment"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/exporter"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podcache"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const name = "jmx-exporter-operator"

// run wires everything and works until ctx ends.
func run(ctx context.Context, o *options) error {
	artifacts, err := transport.ReadArtifacts(o.helpers, o.agent)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w", err)
	}
	// Writes come in bursts when a fleet starts; API Priority and Fairness
	// protects the server.
	config.QPS, config.Burst = 100, 200
	config.UserAgent = rest.DefaultKubernetesUserAgent()

	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	helper := transport.NewExec(config, clientset.CoreV1().RESTClient(), artifacts, metrics.Seam, transport.NewLimits(o.execs, o.execsPerNode))
	writer := apply.New(mgr.GetClient(), metrics.Seam)
	configs := source.New(mgr.GetClient(), mgr.GetAPIReader())
	metrics.Register(mgr.GetCache())

	if err := (&exporter.Reconciler{
		Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Writer: writer, Source: configs,
		Recorder: mgr.GetEventRecorder(name), Clock: clock.RealClock{},
	}).Setup(mgr); err != nil {
		return err
	}
	if err := (&attachment.Reconciler{
		Reader: mgr.GetClient(), Writer: writer, Source: configs,
		Steps:     steps.All(helper, writer, steps.NewHTTPProber(metrics.Seam), artifacts),
		Artifacts: artifacts,
		Recorder:  mgr.GetEventRecorder(name), Clock: clock.RealClock{},
	}).Setup(mgr, o.concurrent); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, o *options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme(),
		Cache:                         cacheOptions(o.namespace),
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.health,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.leaderNamespace,
		LeaderElectionReleaseOnCancel: true,
		Client: client.Options{Cache: &client.CacheOptions{
			// A reconcile never acts on a record older than what the one
			// before it wrote.
			EnableReadYourWritesConsistency: new(true),
		}},
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, mgr.AddReadyzCheck("ping", healthz.Ping)
}

// cacheOptions keep little of what is not ours.
func cacheOptions(namespace string) cache.Options {
	exporters, err := labels.NewRequirement(v1alpha1.LabelExporterUID, selection.Exists, nil)
	utilruntime.Must(err)
	ours := cache.ByObject{Label: labels.NewSelector().Add(*exporters)}
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                {Transform: podcache.Trim},
			&corev1.Service{}:            ours,
			&discoveryv1.EndpointSlice{}: ours,
			source.Metadata():            {Transform: cache.TransformStripManagedFields()},
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
	if namespace != metav1.NamespaceAll {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return options
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}
