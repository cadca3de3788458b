package integration

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/policies"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// release returns the artifacts of a release with another helper and agent.
func release(name string) *transport.Artifacts {
	return &transport.Artifacts{
		Helpers: map[string]transport.Blob{
			"x86_64": transport.NewBlob("jmx-attach-", []byte(name+"amd64"), ""), "aarch64": transport.NewBlob("jmx-attach-", []byte(name+"arm64"), ""),
		},
		Agent:          transport.NewBlob("agent-", []byte(name), ".jar"),
		Implementation: transport.NewBlob("exporter-", []byte(name), ".jar"),
	}
}

// accept makes the policies of the overlay accept the commands of other releases.
func (c *contained) accept(commands policies.Commands) {
	c.t.Helper()
	files, err := policies.Files(commands)
	if err != nil {
		c.t.Fatal(err)
	}
	var of unstructured.Unstructured
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(files["exec.yaml"]), 4096).Decode(&of); err != nil {
		c.t.Fatal(err)
	}
	for _, field := range []string{"variables", "validations"} {
		value, _, err := unstructured.NestedSlice(of.Object, "spec", field)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, object := range c.policies {
			u := object.(*unstructured.Unstructured)
			if strings.HasPrefix(u.GetName(), "jmx-exporter-operator-exec.") && u.GetKind() == "ValidatingAdmissionPolicy" {
				err = errors.Join(err, unstructured.SetNestedSlice(u.Object, value, "spec", field))
			}
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// The policies of a release accept the operator of the previous one, so they can be
// deployed first; an operator of a later release reports that its policies are missing.
func TestContainmentOfReleases(t *testing.T) {
	older, before, now, next := release("older"), release("before"), release("now"), release("next")
	c := contain(t, "default")
	c.accept(policies.Commands{Current: now.Command(), Previous: before.Command()})
	pod := c.run(aPod("app-0"))
	opens := func(a *transport.Artifacts) *transport.Error {
		exec := transport.NewExec(transport.NewStreams(c.config, clientsetOf(t, c.config).CoreV1().RESTClient()), a, effects.Direct, transport.NewLimits(4, 4, 4))
		_, err := exec.Open(t.Context(), c.inApp(pod))
		known, ok := errors.AsType[*transport.Error](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		return known
	}
	admitted := func(a *transport.Artifacts) bool { return opens(a).Reason == v1alpha1.ReasonExecFailed }
	eventually(t, func() bool { return admitted(next) })
	c.enforce(func() bool { return !admitted(next) })
	for name, a := range map[string]*transport.Artifacts{"now": now, "before": before} {
		if err := opens(a); err.Reason != v1alpha1.ReasonExecFailed {
			t.Errorf("release %s: got %s %q, want ExecFailed", name, err.Reason, err.Message)
		}
	}
	for _, a := range []*transport.Artifacts{older, next} {
		if err := opens(a); err.Reason != v1alpha1.ReasonExecRefused || !strings.Contains(err.Message, "deploy the config/policies") {
			t.Errorf("release next: got %s %q, want ExecRefused that names config/policies", err.Reason, err.Message)
		}
	}
	if slices.Equal(now.Command(), next.Command()) {
		t.Error("the releases have the same command")
	}
}
