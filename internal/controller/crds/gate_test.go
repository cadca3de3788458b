package crds

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// cache has the exporters of all namespaces.
type cache struct {
	client.Reader
	exporters []v1alpha1.PrometheusJmxExporter
}

// List implements client.Reader.
func (c *cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.PrometheusJmxExporterList).Items = c.exporters
	return nil
}

// definition returns the definition that the operator is built with, changed.
func definition(d *Definitions, name string, change func(*schema)) *apiextensionsv1.CustomResourceDefinition {
	root := d.built[name].DeepCopy()
	change(root)
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1alpha1", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
	}}}}
}

func as(*schema) {}

// without removes fields of a part.
func without(part string, fields ...string) func(*schema) {
	return func(root *schema) {
		of := root.Properties[part]
		of.Properties = maps.Clone(of.Properties)
		for _, field := range fields {
			delete(of.Properties, field)
		}
		root.Properties[part] = of
	}
}

func newGate(t *testing.T, exporters ...v1alpha1.PrometheusJmxExporter) *Gate {
	t.Helper()
	d, err := NewDefinitions()
	if err != nil {
		t.Fatal(err)
	}
	return &Gate{Definitions: d, Reader: &cache{exporters: exporters}}
}

const attachments = "jmxattachments.banzaicloud.com"

// Nothing passes before both definitions were read, or while one of them is outdated. A change is
// announced once. One that is deleted holds nothing.
func TestHoldsWhileOutdated(t *testing.T) { synctest.Test(t, holdsWhileOutdated) }

func holdsWhileOutdated(t *testing.T) {
	g := newGate(t)
	changes := 0
	g.OnChange(func() { changes++ })
	check := func(what string, holds bool, says ...string) {
		t.Helper()
		hold, err := g.Hold(t.Context(), "shop")
		if err != nil || (hold != nil) != holds || (g.Check(nil) == nil) == holds {
			t.Fatalf("%s: hold is %v, readiness %v, error %v; want a hold: %t", what, hold, g.Check(nil), err, holds)
		}
		for _, text := range says {
			if !strings.Contains(hold.Message, text) || !strings.Contains(g.Check(nil).Error(), text) {
				t.Errorf("%s: the message lacks %q: %s", what, text, hold.Message)
			}
		}
	}
	check("at start", true)
	g.fail(exporters, errors.New("forbidden"))
	if err := g.Check(nil); err == nil || !strings.Contains(err.Error(), "not read yet") && !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("readiness is %v", err)
	}
	g.fail(attachments, errors.New("forbidden"))
	if hold, err := g.Hold(t.Context(), "shop"); err != nil || hold == nil || hold.RetryAfter != later {
		t.Errorf("without the right to read them, the hold is %+v with error %v, want one for %s", hold, err, later)
	}
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, as))
	check("with one of two", true)
	g.set(t.Context(), attachments, definition(g.Definitions, attachments, as))
	check("with both", false)
	if g.fail(exporters, errors.New("a list failed later")); changes != 0 {
		t.Errorf("changes: got %d, want none", changes)
	}
	check("after a failure", false)
	g.set(t.Context(), attachments, definition(g.Definitions, attachments, without("status", "containers", "processes", "phase", "reason", "revision", "resume")))
	g.set(t.Context(), attachments, definition(g.Definitions, attachments, without("status", "containers", "processes", "phase", "reason", "revision", "resume")))
	check("without fields", true, attachments, "lacks status.containers, status.phase, status.processes, status.reason, status.resume and 1 more.", "kubectl apply --server-side")
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, without("spec", "selector")))
	check("without fields of both", true, exporters, "lacks spec.selector.", attachments)
	g.set(t.Context(), attachments, nil)
	check("without a definition", true, exporters)
	time.Sleep(schemaPropagation / 2)
	check("before a change", true)
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, as))
	time.Sleep(schemaPropagation - 1)
	check("not settled", true, exporters)
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, without("spec", "selector")))
	time.Sleep(schemaPropagation)
	check("changed back", true, exporters)
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, as))
	time.Sleep(schemaPropagation / 2)
	g.set(t.Context(), exporters, definition(g.Definitions, exporters, as))
	time.Sleep(schemaPropagation - time.Nanosecond)
	check("changed again", true, exporters)
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	check("mended", false)
	if changes != 4 {
		t.Errorf("changes: got %d, want 4", changes)
	}
}

// cachedExporter returns an exporter as the cache has it.
func cachedExporter(t *testing.T, d *Definitions, spec string) v1alpha1.PrometheusJmxExporter {
	t.Helper()
	e := &v1alpha1.PrometheusJmxExporter{}
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"exporter","managedFields":[{}]},"spec":`+spec+`}`), e); err != nil {
		t.Fatal(err)
	}
	transformed, err := d.KeepUnknown()(e)
	if err != nil || len(e.ManagedFields) > 0 {
		t.Fatalf("managed fields are %v, error %v", e.ManagedFields, err)
	}
	return *transformed.(*v1alpha1.PrometheusJmxExporter)
}

// A namespace is held while an exporter in it uses what the operator does not know, or has lost its
// selector, and is not deleted.
func TestHoldsUnknownSpecs(t *testing.T) {
	for name, tc := range map[string]struct{ spec, says string }{
		"known":                {`{"labelSelector":{"app":"a"},"mode":"Attach","rollout":{"canary":{"count":1}}}`, ""},
		"expressions":          {`{"selector":{"matchExpressions":[{"key":"app","operator":"In","values":["a"]}]}}`, ""},
		"a default":            {`{"labelSelector":{"app":"a"},"sampling":"All"}`, ""},
		"not the default":      {`{"labelSelector":{"app":"a"},"sampling":"None"}`, "Exporter exporter has fields or values that this release of the operator does not know: spec.sampling."},
		"an unknown mode":      {`{"labelSelector":{"app":"a"},"mode":"Watch"}`, "spec.mode=Watch"},
		"an unknown operator":  {`{"selector":{"matchExpressions":[{"key":"app","operator":"Gt","values":["1"]}]}}`, "spec.selector.matchExpressions[].operator=Gt"},
		"without a selector":   {`{"config":{"configMapName":"rules","configMapKey":"k"}}`, "has no valid selector"},
		"with an empty one":    {`{"selector":{}}`, "has no valid selector"},
		"with lost values":     {`{"selector":{"matchExpressions":[{"key":"app","operator":"In"}]}}`, "has no valid selector"},
		"a field of a rollout": {`{"labelSelector":{"app":"a"},"rollout":{"pace":"Slow"}}`, "spec.rollout.pace"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.set(t.Context(), attachments, definition(g.Definitions, attachments, as))
			g.set(t.Context(), exporters, definition(g.Definitions, exporters, func(root *schema) {
				spec := root.Properties["spec"]
				spec.Properties["sampling"] = schema{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"All"`)}}
			}))
			e := cachedExporter(t, g.Definitions, tc.spec)
			g.Reader = &cache{exporters: []v1alpha1.PrometheusJmxExporter{cachedExporter(t, g.Definitions, `{"labelSelector":{"app":"b"}}`), e}}
			hold, err := g.Hold(t.Context(), "shop")
			if err != nil || (hold != nil) != (tc.says != "") || hold != nil && (!strings.Contains(hold.Message, tc.says) || hold.Reason != v1alpha1.ReasonSpecUnknown) {
				t.Errorf("hold is %+v, error %v; want %q", hold, err, tc.says)
			}
			if g.Check(nil) != nil {
				t.Errorf("an exporter decides about readiness: %v", g.Check(nil))
			}
			e.DeletionTimestamp = &metav1.Time{}
			*e.DeletionTimestamp = metav1.Now()
			g.Reader = &cache{exporters: []v1alpha1.PrometheusJmxExporter{e}}
			if hold, err := g.Hold(t.Context(), "shop"); hold != nil || err != nil {
				t.Errorf("an exporter that is deleted holds its namespace: %v, %v", hold, err)
			}
		})
	}
}
