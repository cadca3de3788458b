//go:build e2e

package e2e

import (
	"cmp"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// Every kind of pod is attached to, or refused with a typed reason and a message, and its
// application is never disturbed. docs/compatibility.md has the reported results.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			testenv.Test(t, ofKind(k).Feature())
		})
	}
}

// ofKind returns the feature of a kind of pod.
func ofKind(k kinds.Kind) *features.FeatureBuilder {
	namespace := funcs.NamespaceFor(k.Name)
	applications := funcs.ApplicationsIn(namespace)
	feature := features.New(k.Name).
		WithSetup("a namespace", funcs.InNamespace(namespace)).
		WithSetup("further objects exist", funcs.Apply(namespace, k.Files...)).
		WithSetup("an application", funcs.ApplyPatched(namespace, java17, k.PatchPod)).
		WithSetup("the pod is running", funcs.Running(namespace, 1, k.Applications())).
		WithSetup("the initial state is recorded", applications.Remember()).
		WithSetup("an exporter", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.ApplyPatched(namespace, exporter, k.PatchExporter)))
	if k.Reason == "" {
		attached(feature, namespace, k, k.Change)
	} else {
		feature.Assess(k.Reason+" is reported", funcs.All(
			funcs.ConditionWithReason(namespace, 1, k.Phase, k.Reason, k.Words...),
			funcs.Reported(namespace, k))).
			Assess("no annotation is written", funcs.Annotations(namespace, nil))
		if k.Transport == "" {
			feature.
				Assess("nothing is installed", funcs.NothingInstalled(namespace)).
				Assess("no ephemeral container is added", funcs.Doors(namespace, 0, false))
		}
		if !k.Loaded {
			feature.Assess("nothing is loaded", funcs.NothingLoaded(namespace))
		}
	}
	feature.Assess("the application is unchanged", applications.UntouchedButWarned(k.Warned))
	if k.Mended != nil {
		feature.Assess("the pod is Annotated after the fix", funcs.All(
			funcs.ApplyPatched(namespace, java17, k.Mended.PatchPod),
			funcs.ApplyPatched(namespace, exporter, k.Mended.PatchExporter)))
		attached(feature, namespace, k, *k.Mended)
	}
	if k.Reason == "" {
		feature.Assess("nothing of the operator remains after the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.Doors(namespace, doors(k), false),
			funcs.Uninstalled(namespace),
			applications.UntouchedButWarned(k.Warned)))
	}
	return feature
}

// attached adds the steps of a pod that is attached to through the kind's transport.
func attached(feature *features.FeatureBuilder, namespace string, k kinds.Kind, c kinds.Change) {
	annotated := funcs.AllAnnotated(namespace, funcs.Exporter, 1, c.Port())
	if k.JVMs > 1 {
		annotated = funcs.JVMsOf(namespace, funcs.Exporter).Served(1, k.JVMs)
	}
	feature.
		Assess("the pod is Annotated", annotated).
		Assess("the metrics are served", funcs.Serves(namespace, cmp.Or(k.Metric, "dummyapp_requests_total")))
	if k.Reason == "" {
		feature.
			Assess("the expected transport is used", funcs.Doors(namespace, doors(k), true)).
			Assess("the transport is reported", funcs.All(
				funcs.ConditionTrue(namespace, cmp.Or(k.Phase, v1alpha1.PhaseJavaFound), k.Words...),
				funcs.Reported(namespace, k)))
	}
}

// doors returns the number of ephemeral containers of a kind.
func doors(k kinds.Kind) int {
	if k.Transport == v1alpha1.TransportEphemeralContainer {
		return 1
	}
	return 0
}
