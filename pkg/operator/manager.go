package operator

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// Operator is what NewManager needs to know of an operator. All fields are required.
type Operator struct {
	// Name is the name of the Lease of its leader election.
	Name string
	// AddToScheme adds its own kinds to a scheme, which has those of Kubernetes.
	AddToScheme func(*runtime.Scheme) error
	// Setup adds its controllers to the manager.
	Setup func(ctrl.Manager) error
}

// NewManager returns a manager with the operator's controllers, ready to start. Scheme,
// client and the name of the Lease are its own; the other options are the caller's.
func NewManager(config *rest.Config, o Operator, options ctrl.Options) (ctrl.Manager, error) {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, o.AddToScheme} {
		if err := add(options.Scheme); err != nil {
			return nil, err
		}
	}
	options.LeaderElectionID, options.LeaderElectionReleaseOnCancel = o.Name, true
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
	return mgr, o.Setup(mgr)
}
