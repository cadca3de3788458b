package integration

import (
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
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
	// rule is the one that alone prevents it, by words of its message; empty if several do.
	rule string
	try  func(n *tenancy) bool
}

var (
	onCreator = []string{"config/policies"}
	onStamp   = []string{"config/stamp"}
)

// Rules of the policies, by words of their messages.
const (
	mayNeither          = "the spec of an exporter needs one of them"
	mayNotReadArguments = "wholeArgument needs it"
	mayNotReadSecret    = "may not get Secret"
	mayNotReadConfigMap = "may not get ConfigMap"
	mayNotReadLogs      = "may not get pods/log"
	namesOthers         = "may not name somebody else"
	notOptedIn          = "has no label banzaicloud.com/jmx-exporter: enabled"
	mayNotWriteRules    = "a ConfigMap with the label banzaicloud.com/jmx-exporter-rules needs one of them"
)

var attacks = map[string]attack{
	"an exporter is created without the right": {onCreator, mayNeither, func(n *tenancy) bool {
		return n.by(n.mallory.Create(n.t.Context(), n.anExporter("mallorys")))
	}},
	"an exporter is created under a generated name": {onCreator, mayNeither, func(n *tenancy) bool {
		e := n.anExporter("")
		e.GenerateName = "mallorys-"
		return n.by(n.mallory.Create(n.t.Context(), e))
	}},
	"an exporter is created by server-side apply": {onCreator, mayNeither, func(n *tenancy) bool {
		return n.by(n.apply(n.mallory, "mallorys", `spec: {labelSelector: {app: dummyapp}, config: {configMapName: rules, configMapKey: config.yaml}}`))
	}},
	"the spec is patched": {onCreator, "", func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"labelSelector":{"app":"other"}}}`)))
	}},
	"the spec is replaced": {onCreator, "", func(n *tenancy) bool {
		get(n.t, n.exporter)
		n.exporter.Spec.Config.ConfigMapName = "other"
		return n.by(n.mallory.Update(n.t.Context(), n.exporter))
	}},
	"the spec is applied by another field manager": {onCreator, "", func(n *tenancy) bool {
		return n.by(n.apply(n.mallory, n.exporter.Name, `spec: {port: 9500}`))
	}},
	"a rollout is resumed": {onCreator, "", func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, "2")))
	}},
	"the annotation that resumed a rollout is removed": {onCreator, "", func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, nil)))
	}},
	"a new exporter names somebody else as requester": {onCreator, namesOthers, func(n *tenancy) bool {
		e := n.anExporter("named")
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: forged}
		return n.by(n.alice.Create(n.t.Context(), e))
	}},
	"a new exporter names groups of somebody else": {onCreator, namesOthers, func(n *tenancy) bool {
		e := n.anExporter("named")
		e.Annotations = map[string]string{v1alpha1.AnnotationRequesterGroups: forgedGroups}
		return n.by(n.alice.Create(n.t.Context(), e))
	}},
	"the requester is replaced where there is no stamp": {onCreator, namesOthers, func(n *tenancy) bool {
		return n.by(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequester, forged)))
	}},
	"the spec is changed in the name of somebody else": {onCreator, namesOthers, func(n *tenancy) bool {
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)))
	}},
	"arguments are matched without the right to exec": {onCreator, mayNotReadArguments, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"metadata":{"annotations":null}}`)))
		return n.by(n.erin().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"processes":[{"action":"Exclude","wholeArgument":"-Dpassword=a.*"}]}}`)))
	}},
	"TLS and passwords are removed without the right to read their Secret": {onCreator, mayNotReadSecret, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"endpointSecurity":{"secretName":"metrics"}},"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"endpointSecurity":null}}`)))
	}},
	"the Secret is replaced by one that the user may read": {onCreator, mayNotReadSecret, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"endpointSecurity":{"secretName":"metrics"}},"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"endpointSecurity":{"secretName":"dans"}}}`)))
	}},
	"a ConfigMap is named that the user may not read": {onCreator, mayNotReadConfigMap, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"config":{"configMapName":"dans"}},"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"config":{"configMapName":"private"}}}`)))
	}},
	"a ConfigMap is replaced that the user may not read": {onCreator, mayNotReadConfigMap, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"config":{"configMapName":"private"}},"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"config":{"configMapName":"dans"}}}`)))
	}},
	"logs are shown to all without the right to read them": {onCreator, mayNotReadLogs, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"alerts":{"logLines":10}}}`)))
	}},
	"logs are no longer shown, without the right to read them": {onCreator, mayNotReadLogs, func(n *tenancy) bool {
		n.must(admin.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"alerts":{"logLines":10}},"metadata":{"annotations":null}}`)))
		return n.by(n.dan().Patch(n.t.Context(), n.exporter, patch(`{"spec":{"alerts":{"logLines":0}}}`)))
	}},
	"the stamp is forged in a new exporter": {onStamp, "", func(n *tenancy) bool {
		e := n.anExporter("forged")
		e.Annotations = map[string]string{v1alpha1.AnnotationRequester: forged, v1alpha1.AnnotationRequesterGroups: forgedGroups}
		n.must(n.mallory.Create(n.t.Context(), e))
		return n.forged(e)
	}},
	"the stamp is forged with a change of the spec": {onStamp, "", func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, patch(
			`{"spec":{"port":9500},"metadata":{"annotations":{"`+v1alpha1.AnnotationRequester+`":"`+forged+`"}}}`)))
		return n.forged(n.exporter)
	}},
	"the requester is forged": {onStamp, "", func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequester, forged)))
		return n.forged(n.exporter)
	}},
	"the requester's groups are forged": {onStamp, "", func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequesterGroups, forgedGroups)))
		return n.forged(n.exporter)
	}},
	"the stamp is forged by server-side apply": {onStamp, "", func(n *tenancy) bool {
		n.must(n.apply(n.mallory, n.exporter.Name, `metadata: {annotations: {banzaicloud.com/requester: "`+forged+`"}}`))
		return n.forged(n.exporter)
	}},
	"the stamp is removed": {onStamp, "", func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationRequester, nil)))
		return n.forged(n.exporter)
	}},
	"all annotations are removed": {onStamp, "", func(n *tenancy) bool {
		n.must(n.mallory.Patch(n.t.Context(), n.exporter, patch(`{"metadata":{"annotations":null}}`)))
		return n.forged(n.exporter)
	}},
	"the exporter is replaced by one without a stamp": {onStamp, "", func(n *tenancy) bool {
		get(n.t, n.exporter)
		n.exporter.Annotations = nil
		n.must(n.mallory.Update(n.t.Context(), n.exporter))
		return n.forged(n.exporter)
	}},
}

// Each attack succeeds without the admission policies, and fails with them; without any of
// the rules, one of them succeeds.
func TestAuthorityAttacks(t *testing.T) {
	t.Parallel()
	eachRuleIsNeeded(t, "config/policies", "jmx-exporter-operator-creator", attacks)
	for name, attack := range attacks {
		if slices.Equal(attack.policies, onStamp) && !servesStamp() {
			continue
		}
		t.Run(name, attack.run)
	}
}

// run tries the attack without the policies, with them, and without the rule that prevents it.
func (a attack) run(t *testing.T) {
	t.Parallel()
	if !a.try(newTenancy(t)) {
		t.Error("the attack fails even without the policies, so this case proves nothing")
	}
	if a.try(newTenancy(t, a.policies...)) {
		t.Error("the attack succeeds in spite of the policies")
	}
	if a.rule != "" && !a.try(newTenancyWithout(t, a.rule, a.policies...)) {
		t.Errorf("the attack fails without the rule %q, so that it does not need it", a.rule)
	}
}

// eachRuleIsNeeded checks that each rule of the policies with a prefix is one that alone
// prevents an attack.
func eachRuleIsNeeded(t *testing.T, kustomization, prefix string, attacks map[string]attack) {
	t.Helper()
	needed := map[string]bool{}
	for _, a := range attacks {
		needed[a.rule] = true
	}
	delete(needed, "")
	for _, policy := range built(t, kustomization) {
		if policy.GetKind() != "ValidatingAdmissionPolicy" || !strings.HasPrefix(policy.GetName(), prefix) {
			continue
		}
		for _, message := range messagesOf(t, policy) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(needed)), func(rule string) bool { return strings.Contains(message, rule) }) {
				t.Errorf("%s: no attack needs the rule with the message %s", policy.GetName(), message)
			}
		}
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

// erin returns a client of a user who may attach, and not exec.
func (n *tenancy) erin() client.Client {
	n.t.Helper()
	n.bind("erin", mayWrite, mayConfigure, mayAttach)
	erin := as(n.t, n.user("erin"))
	eventually(n.t, func() bool { return erin.Create(n.t.Context(), n.anExporter("probe"), client.DryRunAll) == nil })
	return erin
}

// dan returns a client of a user who may exec, and read a Secret and a ConfigMap of his own, and the
// exporter's ConfigMap.
func (n *tenancy) dan() client.Client {
	n.t.Helper()
	own := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get"}, ResourceNames: []string{"dans", "rules"}}
	n.bind("dan", mayWrite, mayExec, own)
	dan := as(n.t, n.user("dan"))
	probe := n.anExporter("probe")
	probe.Spec.Config.ConfigMapName = "dans"
	eventually(n.t, func() bool { return dan.Create(n.t.Context(), probe.DeepCopy(), client.DryRunAll) == nil })
	return dan
}
