package integration

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

type crdSchema = apiextensionsv1.JSONSchemaProps

const (
	exporterKind   = "prometheusjmxexporters.banzaicloud.com"
	attachmentKind = "jmxattachments.banzaicloud.com"
)

// changeCRD changes the schema of an installed CRD, until restore or the end of the test.
func changeCRD(t *testing.T, name string, how func(root *crdSchema)) (restore func()) {
	t.Helper()
	crds := crdClient(t)
	restore = sync.OnceFunc(func() {
		if _, err := envtest.InstallCRDs(config, environment.CRDInstallOptions); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := crds.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	how(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err := crds.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	return restore
}

// in changes a part of a schema, named by its fields; "[]" is the element of a list.
func in(root *crdSchema, path string, how func(*crdSchema)) {
	name, rest, more := strings.Cut(path, ".")
	if name == "[]" {
		if more {
			in(root.Items.Schema, rest, how)
		} else {
			how(root.Items.Schema)
		}
		return
	}
	part := root.Properties[name]
	if more {
		in(&part, rest, how)
	} else {
		how(&part)
	}
	root.Properties[name] = part
}

// without removes a field of a part of a schema, and the rules that may refer to it.
func without(path, field string) func(*crdSchema) {
	return func(root *crdSchema) {
		in(root, path, func(part *crdSchema) {
			delete(part.Properties, field)
			part.XValidations = nil
			part.Required = slices.DeleteFunc(part.Required, func(name string) bool { return name == field })
		})
	}
}

// watchedOperator is a running operator, its health checks, and what it does.
type watchedOperator struct {
	*story
	address string
	mu      sync.Mutex
	done    map[string]bool
	stop    func()
}

// watchOperator starts an operator of the story's namespace.
func (s *story) watchOperator() *watchedOperator {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.82:0") // see TestLiveness
	if err != nil {
		s.t.Fatal(err)
	}
	o := &watchedOperator{story: s, address: listener.Addr().String(), done: map[string]bool{}}
	listener.Close()
	_, o.stop = s.startManagerAs(config, func(options *manager.Options) { options.Seam, options.HealthAddress = o.seam, o.address }, s.namespace)
	return o
}

func (o *watchedOperator) seam(ctx context.Context, effect effects.Effect, do func(context.Context) error) error {
	o.mu.Lock()
	o.done[string(effect.Kind)+" "+effect.What] = true
	o.mu.Unlock()
	return do(ctx)
}

// did returns the kinds of effects since the previous call.
func (o *watchedOperator) did() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	did := slices.Sorted(maps.Keys(o.done))
	o.done = map[string]bool{}
	return did
}

// probe returns the answer of a health check.
func (o *watchedOperator) probe(path string) (status int, body string) {
	response, err := http.Get("http://" + o.address + path)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	all, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(all)
}

// stalls waits until the exporter reports a reason, and returns its message.
func (o *watchedOperator) stalls(reason string) string {
	o.t.Helper()
	var stalled *metav1.Condition
	eventually(o.t, func() bool {
		get(o.t, o.exporter)
		stalled = meta.FindStatusCondition(o.exporter.Status.Conditions, v1alpha1.ConditionStalled)
		ready := meta.FindStatusCondition(o.exporter.Status.Conditions, v1alpha1.ConditionReady)
		return stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == reason &&
			ready.Status == metav1.ConditionFalse && ready.Reason == reason && ready.ObservedGeneration == o.exporter.Generation
	})
	return stalled.Message
}

// serves waits until the pod is Annotated at a port, and the exporter is Ready.
func (o *watchedOperator) serves(port string) {
	o.t.Helper()
	eventually(o.t, func() bool {
		a := o.attachment(o.pod)
		get(o.t, o.exporter)
		return a != nil && phaseOf(a) == isAnnotated && o.annotations(o.pod)["prometheus.io/port"] == port &&
			meta.IsStatusConditionTrue(o.exporter.Status.Conditions, v1alpha1.ConditionReady) && strings.HasSuffix(o.endpoints(o.exporter), ":"+port)
	})
}

const onlyReports = "apply jmx-exporter-operator/exporter-status"

// A new operator does nothing while the CRDs are those of an older release, and says so. Once they
// are right, it continues by itself.
//
// Not parallel, like TestRemovedWithCRDs: the CRDs are those of all tests.
func TestOutdatedCRDs(t *testing.T) {
	for name, tc := range map[string]struct {
		kind string
		how  func(*crdSchema)
		says string
	}{
		"records lack containers": {attachmentKind, without("status", "containers"), "lacks status.containers."},
		"records lack intents":    {attachmentKind, without("status.processes.[]", "intent"), "lacks status.processes[].intent."},
		"exporters lack a count":  {exporterKind, without("status", "updated"), "lacks status.updated."},
		"exporters lack selector": {exporterKind, without("spec", "selector"), "lacks spec.selector."},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{cluster: newCluster(t)}
			before := s.watchOperator()
			s.pod, s.exporter = s.run(aPod("app-0")), s.export("exporter")
			s.neverHalt()
			before.serves("9400")
			before.stop()
			s.containers.Called()
			restore := changeCRD(t, tc.kind, tc.how)
			o := s.watchOperator()
			if message := o.stalls("CustomResourceDefinitionsOutdated"); !strings.Contains(message, tc.kind) || !strings.Contains(message, tc.says) {
				t.Errorf("the message is %q, want one with %q and %q", message, tc.kind, tc.says)
			}
			s.restart(s.pod)
			other := s.run(aPod("app-1"))
			eventually(t, func() bool { status, _ := o.probe("/healthz"); return status == http.StatusOK })
			if status, body := o.probe("/readyz?verbose"); status != http.StatusInternalServerError || !strings.Contains(body, "[-]crds") {
				t.Errorf("/readyz is %d: %s", status, body)
			}
			if verbs, did := s.verbs(), o.did(); verbs != "" || !slices.Equal(did, []string{onlyReports}) {
				t.Errorf("in containers: %q; effects: %q, want only the report", verbs, did)
			}
			if s.attachment(other) != nil {
				t.Error("a new pod has a record")
			}
			if at := s.annotations(s.pod)["prometheus.io/port"]; at != "9400" || !strings.HasSuffix(s.endpoints(s.exporter), ":9400") {
				t.Errorf("the annotation is %q, the endpoints %q; want both as before", at, s.endpoints(s.exporter))
			}
			restore()
			o.serves("9400")
			eventually(t, func() bool { a := s.attachment(other); return a != nil && phaseOf(a) == isAnnotated })
			if status, body := o.probe("/readyz"); status != http.StatusOK {
				t.Errorf("/readyz is %d: %s", status, body)
			}
		})
	}
}

// The status of an exporter is not written while that would erase a part of its spec, which older
// CRDs hide: an Event tells instead. The exporter is as before once the CRDs are right.
func TestOutdatedCRDsEraseNothing(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	s.configure(rules)
	s.exporter = s.anExporter("exporter")
	s.exporter.Spec.LabelSelector = nil
	s.exporter.Spec.Selector = &v1alpha1.PodSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "dummyapp"}}
	create(t, s.exporter)
	before := s.watchOperator()
	s.pod = s.run(aPod("app-0"))
	before.serves("9400")
	before.stop()
	restore := changeCRD(t, exporterKind, without("spec", "selector"))
	eventually(t, func() bool { get(t, s.exporter); return s.exporter.Spec.Selector == nil })
	o := s.watchOperator()
	eventually(t, func() bool {
		var list eventsv1.EventList
		s.list(&list)
		return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Name == "exporter" && e.Reason == "CustomResourceDefinitionsOutdated" && strings.Contains(e.Note, "would drop spec.selector")
		})
	})
	if did := o.did(); len(did) > 0 {
		t.Errorf("effects: got %q, want none", did)
	}
	restore()
	eventually(t, func() bool { get(t, s.exporter); return s.exporter.Spec.Selector != nil })
	if !full() { // the watches of an API server without a cache go on with what they showed
		o.stop()
		o = s.watchOperator()
	}
	eventually(t, func() bool { status, _ := o.probe("/readyz"); return status == http.StatusOK })
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	o.serves("9500")
}

// An operator that is older than the CRDs ignores what is new in them, until an exporter uses it:
// what is attached stays then, and nothing is changed.
func TestNewerCRDs(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.watchOperator()
	s.pod, s.exporter = s.run(aPod("app-0")), s.export("exporter")
	o.serves("9400")
	changeCRD(t, exporterKind, func(root *crdSchema) {
		in(root, "spec", func(spec *crdSchema) {
			spec.Properties["sampling"] = crdSchema{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"All"`)}}
		})
		in(root, "spec.selector.matchExpressions.[].operator", func(operator *crdSchema) {
			operator.Enum = append(operator.Enum, apiextensionsv1.JSON{Raw: []byte(`"Gt"`)})
		})
		in(root, "status", func(status *crdSchema) { status.Properties["sampled"] = crdSchema{Type: "string"} })
	})
	patch := func(spec string) {
		t.Helper()
		if err := admin.Patch(t.Context(), s.exporter, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`))); err != nil {
			t.Fatal(err)
		}
	}
	live := func() *unstructured.Unstructured {
		t.Helper()
		var live unstructured.Unstructured
		live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PrometheusJmxExporter"))
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(s.exporter), &live); err != nil {
			t.Fatal(err)
		}
		return &live
	}
	eventually(t, func() bool { // the API server has the new schema
		sampling, _, _ := unstructured.NestedString(live().Object, "spec", "sampling")
		return sampling == "All"
	})
	patch(`{"port":9500}`)
	o.serves("9500")

	// sampled writes the status as the newer release does that has this field.
	sampled := func(t *testing.T) {
		t.Helper()
		object := live()
		if err := unstructured.SetNestedField(object.Object, "10", "status", "sampled"); err != nil {
			t.Fatal(err)
		}
		object.SetManagedFields(nil)
		if err := admin.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), records.OwnerExporterStatus, client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
	keeps := func(t *testing.T, spec, says string) {
		t.Helper()
		sampled(t)
		o.did()
		s.containers.Called()
		patch(spec)
		if message := o.stalls("SpecUnknown"); !strings.Contains(message, "Exporter exporter has fields or values that this release of the operator does not know: "+says) {
			t.Errorf("the message is %q, want one with %q", message, says)
		}
		if field, _, _ := unstructured.NestedString(live().Object, "status", "sampled"); field != "10" {
			t.Errorf("the report erased the status of a newer release: got %q", field)
		}
		if verbs, did := s.verbs(), o.did(); verbs != "" || !slices.Equal(did, []string{onlyReports}) {
			t.Errorf("in containers: %q; effects: %q, want only the report", verbs, did)
		}
		if at := s.annotations(s.pod)["prometheus.io/port"]; at != "9500" || !s.containers.Serves(s.jvm(s.pod)) {
			t.Errorf("the annotation is %q, want 9500, and the agent serving", at)
		}
		if status, body := o.probe("/readyz"); status != http.StatusOK {
			t.Errorf("/readyz is %d: %s", status, body)
		}
	}
	keeps(t, `{"sampling":"None","port":9600}`, "spec.sampling.")
	patch(`{"sampling":null,"port":9500}`)
	o.serves("9500")
	keeps(t, `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"app","operator":"Gt"}]}}`, "spec.selector.matchExpressions[].operator=Gt.")
	patch(`{"selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}`)
	o.serves("9500")
}
