package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// NewManager returns a manager with the Reconciler, ready to start. The image is
// that of the members where an object names none. Scheme, client and
// the name of the lease are its own; the other options are the caller's.
func NewManager(config *rest.Config, image string, options ctrl.Options) (ctrl.Manager, error) {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(options.Scheme); err != nil {
			return nil, err
		}
	}
	options.LeaderElectionID, options.LeaderElectionReleaseOnCancel = "postgrescluster-operator", true
	// A reconcile never acts on a record older than what the one before it wrote.
	options.Client = client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, err
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, err
		}
	}
	// The manager's client lists what it writes, to know that its cache has it; the right to
	// list Secrets is not taken.
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		Reader: mgr.GetClient(), Live: live, Apply: apply.New(mgr.GetClient(), effects.Direct), Seam: effects.Direct,
		Events: mgr.GetEventRecorder(string(owner)),
		Image:  image, Clock: clock.RealClock{},
	}
	return mgr, r.Setup(mgr)
}
