package integration

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The CRDs are deleted, and exporters and records with them, as when a tool of GitOps
// prunes all at once. An operator that stopped before detached nothing; one that runs
// survives it. Once the CRDs are back, the operator finds the pod by its annotations and
// detaches from it.
//
// Not parallel: the CRDs are those of all tests, and those that are parallel wait
// meanwhile.
func TestRemovedWithCRDs(t *testing.T) {
	for name, running := range map[string]bool{"the operator stops first": false, "the operator runs": true} {
		t.Run(name, func(t *testing.T) {
			s := &story{cluster: newCluster(t)}
			stop := s.manage()
			defer func() { stop() }()
			s.pod = s.run(aPod("app-0"))
			s.exporter = s.export("exporter")
			eventually(t, func() bool {
				a := s.attachment(s.pod)
				return a != nil && a.Status.Phase == v1alpha1.PhaseAnnotated && meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.ConditionReady)
			})
			agent, annotations := s.jvm(s.pod), len(s.annotations(s.pod))
			if !running {
				stop()
			}
			restore := deleteCRDs(t)
			if left := s.annotations(s.pod); !running && (!s.containers.Serves(agent) || len(left) != annotations) {
				t.Errorf("without an operator: agent serves %t, annotations %v; want both as before", s.containers.Serves(agent), left)
			}
			restore()
			if !running {
				stop = s.manage()
			}
			eventually(t, func() bool { return !s.containers.Serves(agent) && len(s.annotations(s.pod)) == 0 })
			eventually(t, func() bool { return s.attachment(s.pod) == nil })
		})
	}
}

// crdClient returns a client for CustomResourceDefinitions.
func crdClient(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// deleteCRDs deletes the CRDs of the operator, waits until they are gone, and returns a
// function that installs them again, also if the test fails.
func deleteCRDs(t *testing.T) (restore func()) {
	t.Helper()
	crds := crdClient(t)
	gone := func() bool {
		var left apiextensionsv1.CustomResourceDefinitionList
		if err := crds.List(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		return !slices.ContainsFunc(left.Items, func(crd apiextensionsv1.CustomResourceDefinition) bool { // other tests have their own
			return crd.Spec.Group == v1alpha1.GroupVersion.Group
		})
	}
	install := func() {
		if _, err := envtest.InstallCRDs(config, environment.CRDInstallOptions); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(install)
	if err := envtest.UninstallCRDs(config, environment.CRDInstallOptions); err != nil {
		t.Fatal(err)
	}
	eventually(t, gone)
	return install
}
