package manager

import (
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/crds"
	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// newGate returns the gate of all controllers, which watches the installed definitions while the
// manager runs, and is one of its readiness checks.
func newGate(mgr ctrl.Manager, definitions *crds.Definitions, of shard.Shard) (*crds.Gate, error) {
	client, err := apiextensionsclient.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(&crds.Watch{Definitions: definitions, Client: client.CustomResourceDefinitions()}); err != nil {
		return nil, err
	}
	gate := &crds.Gate{Definitions: definitions, Shard: of, Reader: cached.Snapshot{Reader: mgr.GetClient()}}
	return gate, mgr.AddReadyzCheck("crds", gate.Check)
}
