package integration

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An attack's try reports whether the attack succeeded.
type attack struct {
	// policies are the kustomizations whose policies prevent the attack.
	policies []string
	try      func(n *tenancy) bool
}

var (
	onCreator = []string{"config/policies"}
	onStamp   = []string{"config/stamp"}
)

var attacks = map[string]attack{
	"an exporter is created without the right": {onCreator, func(n *tenancy) bool {
		return n.by(n.mallory.Create(n.t.Context(), n.anExporter("mallorys")))
	}},
	"an exporter is created under a generated name": {onCreator, func(n *tenancy) bool {
		e := n.anExporter("")
		e.GenerateName = "mallorys-"
		return n.by(n.mallory.Create(n.t.Context(), e))
	}},
	"an exporter is created by server-side apply": {onCreator, func(n *tenancy) bool {
		return n.by(n.apply(n.mallory, "mallorys", `spec: {labelSelector: {app: dummyapp}, config: {configMapName: rules, configMapKey: config.yaml}}`))
	}},
	"the spec is patched": {onCreator, func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"labelSelector":{"app":"other"}}}`)))
	}},
	"the spec is replaced": {onCreator, func(n *tenancy) bool {
		get(n.t, n.exporter)
		n.exporter.Spec.Config.ConfigMapName = "other"
		return n.by(n.mallory.Update(n.t.Context(), n.exporter))
	}},
	"the spec is applied by another field manager": {onCreator, func(n *tenancy) bool {
		return n.by(n.apply(n.mallory, n.exporter.Name, `spec: {port: 9500}`))
	}},
	"a rollout is resumed": {onCreator, func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, "2")))
	}},
	"the annotation that resumed a rollout is removed": {onCreator, func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, nil)))
	}},
	"the stamp is forged in a new exporter": {onStamp, func(n *tenancy) bool {
		e := n.anExporter("forged")
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: forged, v1alpha1.AnnotationRequesterGroups: forgedGroups}
		n.must(n.mallory.Create(n.t.Context(), e))
		return n.forged(e)
	}},
	"the stamp is forged with a change of the spec": {onStamp, func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, patch(
			`{"spec":{"port":9500},"metadata":{"annotations":{"`+v1alpha1.AnnotationRequester+`":"`+forged+`"}}}`)))
		return n.forged(n.exporter)
	}},
	"the requester is forged": {onStamp, func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequester, forged)))
		return n.forged(n.exporter)
	}},
	"the requester's groups are forged": {onStamp, func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequesterGroups, forgedGroups)))
		return n.forged(n.exporter)
	}},
	"the stamp is forged by server-side apply": {onStamp, func(n *tenancy) bool {
		n.must(n.apply(n.mallory, n.exporter.Name, `metadata: {annotations: {banzaicloud.com/requester: "`+forged+`"}}`))
		return n.forged(n.exporter)
	}},
	"the stamp is removed": {onStamp, func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequester, nil)))
		return n.forged(n.exporter)
	}},
	"all annotations are removed": {onStamp, func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, patch(`{"metadata":{"annotations":null}}`)))
		return n.forged(n.exporter)
	}},
	"the exporter is replaced by one without a stamp": {onStamp, func(n *tenancy) bool {
		get(n.t, n.exporter)
		n.exporter.Annotations = nil
		n.must(n.mallory.Update(n.t.Context(), n.exporter))
		return n.forged(n.exporter)
	}},
}

// Each attack succeeds without the admission policies, and fails with them.
func TestAuthorityAttacks(t *testing.T) {
	t.Parallel()
	for name, attack := range attacks {
		if slices.Equal(attack.policies, onStamp) && !servesStamp() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !attack.try(newTenancy(t)) {
				t.Error("the attack fails even without the policies, so this case proves nothing")
			}
			if attack.try(newTenancy(t, attack.policies...)) {
				t.Error("the attack succeeds in spite of the policies")
			}
		})
	}
}

const (
	forged       = "system:admin"
	forgedGroups = `["system:masters"]`
)

// by reports whether a request was admitted. It fails the test if anything other than an
// admission policy rejected it.
func (n *tenancy) by(err error) bool {
	n.t.Helper()
	if err != nil && !denied(err, "jmx-exporter-operator-") {
		n.t.Fatal(err)
	}
	if err != nil && !strings.Contains(err.Error(), "To allow it, ") {
		n.t.Errorf("the error does not say how to allow the request: %v", err)
	}
	return err == nil
}

func (n *tenancy) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// forged reports whether the stamp names anyone but the users who wrote the exporter.
func (n *tenancy) forged(e *v1alpha1.PrometheusJmxExporter) bool {
	n.t.Helper()
	get(n.t, e)
	user, groups := e.Annotations[v1alpha1.AnnotationRequester], e.Annotations[v1alpha1.AnnotationRequesterGroups]
	return user != n.user("alice") && user != n.user("mallory") || groups != `["system:authenticated"]`
}

// apply force-applies fields of an exporter, given as YAML.
func (n *tenancy) apply(as client.Client, name, says string) error {
	e := n.anExporter(name)
	var object unstructured.Unstructured
	n.must(yaml.Unmarshal([]byte("{apiVersion: banzaicloud.com/v1alpha1, kind: PrometheusJmxExporter, "+says+"}"), &object.Object))
	object.SetName(name)
	data, err := object.MarshalJSON()
	n.must(err)
	return as.Patch(n.t.Context(), e, client.RawPatch(types.ApplyYAMLPatchType, data), client.FieldOwner("mallory"), client.ForceOwnership)
}
