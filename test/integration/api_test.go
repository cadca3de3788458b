package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// What the API server rejects, and with which message.
func TestValidation(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	long := strings.Repeat("x", 64)
	prefix := strings.Repeat("x.", 126) + "x"
	cases := map[string]struct {
		spec string // differences from a valid spec
		want string // substring of the error; valid if empty
	}{
		"the spec is the default":       {spec: `{}`},
		"no selector":                   {spec: `{"labelSelector":null}`, want: "exactly one of labelSelector and selector is required"},
		"both selectors":                {spec: `{"selector":{"matchLabels":{"app":"x"}}}`, want: "exactly one of labelSelector and selector is required"},
		"matchLabels":                   {spec: `{"labelSelector":null,"selector":{"matchLabels":{"app":"x"}}}`},
		"matchExpressions":              {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"a.b/c","operator":"In","values":["x",""]},{"key":"d","operator":"Exists"}]}}`},
		"an empty selector":             {spec: `{"labelSelector":null,"selector":{}}`, want: "spec.selector in body should have at least 1 properties"},
		"no matchLabels":                {spec: `{"labelSelector":null,"selector":{"matchLabels":{}}}`, want: "spec.selector.matchLabels in body should have at least 1 properties"},
		"no matchExpressions":           {spec: `{"labelSelector":null,"selector":{"matchExpressions":[]}}`, want: "spec.selector.matchExpressions in body should have at least 1 items"},
		"a key with a space, matched":   {spec: `{"labelSelector":null,"selector":{"matchLabels":{"my app":"x"}}}`, want: "keys must be valid label keys"},
		"a key with a space, required":  {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"my app","operator":"Exists"}]}}`, want: "must be a valid label key"},
		"an unknown operator":           {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}}`, want: "Unsupported value"},
		"In without values":             {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`, want: "In and NotIn need values"},
		"Exists with values":            {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]}}`, want: "In and NotIn need values"},
		"many requirements":             {spec: requirementsJSON(32, 64)},
		"too many requirements":         {spec: requirementsJSON(33, 1), want: "spec.selector.matchExpressions: Too many: 33: must have at most 32 items"},
		"too many required values":      {spec: requirementsJSON(1, 65), want: "spec.selector.matchExpressions[0].values: Too many: 65: must have at most 64 items"},
		"a long required value":         {spec: `{"labelSelector":null,"selector":{"matchExpressions":[{"key":"a","operator":"In","values":["` + long + `"]}]}}`, want: "spec.selector.matchExpressions[0].values[0]: Too long: may not be"},
		"an empty labelSelector":        {spec: `{"labelSelector":{}}`, want: "spec.labelSelector in body should have at least 1 properties"},
		"a key with a prefix":           {spec: `{"labelSelector":{"app.kubernetes.io/name":"x"}}`},
		"an empty value":                {spec: `{"labelSelector":{"app":""}}`},
		"a key with a space":            {spec: `{"labelSelector":{"my app":"x"}}`, want: "keys must be valid label keys"},
		"a key with two slashes":        {spec: `{"labelSelector":{"a/b/c":"x"}}`, want: "keys must be valid label keys"},
		"an empty key":                  {spec: `{"labelSelector":{"":"x"}}`, want: "keys must be valid label keys"},
		"a long key":                    {spec: `{"labelSelector":{"` + long + `":"x"}}`, want: "keys must be valid label keys"},
		"a name of 63":                  {spec: `{"labelSelector":{"a/` + long[1:] + `":"x"}}`},
		"a name of 64":                  {spec: `{"labelSelector":{"a/` + long + `":"x"}}`, want: "keys must be valid label keys"},
		"a prefix of 253":               {spec: `{"labelSelector":{"` + prefix + `/` + long[1:] + `":"x"}}`},
		"a prefix of 254":               {spec: `{"labelSelector":{"` + prefix + `x/a":"x"}}`, want: "keys must be valid label keys"},
		"a label of a prefix of 253":    {spec: `{"labelSelector":{"` + strings.Repeat("x", 253) + `/a":"x"}}`},
		"an empty prefix":               {spec: `{"labelSelector":{"/a":"x"}}`, want: "keys must be valid label keys"},
		"an empty name":                 {spec: `{"labelSelector":{"a/":"x"}}`, want: "keys must be valid label keys"},
		"a prefix in upper case":        {spec: `{"labelSelector":{"A/a":"x"}}`, want: "keys must be valid label keys"},
		"a prefix with two dots":        {spec: `{"labelSelector":{"a..b/a":"x"}}`, want: "keys must be valid label keys"},
		"a prefix with an underscore":   {spec: `{"labelSelector":{"a_b/a":"x"}}`, want: "keys must be valid label keys"},
		"a name with all characters":    {spec: `{"labelSelector":{"a-b.c/A_b.c-9":"x"}}`},
		"a name that starts with _":     {spec: `{"labelSelector":{"_a":"x"}}`, want: "keys must be valid label keys"},
		"a name that ends in .":         {spec: `{"labelSelector":{"a.":"x"}}`, want: "keys must be valid label keys"},
		"a name that ends in a line":    {spec: `{"labelSelector":{"a\n":"x"}}`, want: "keys must be valid label keys"},
		"a name with an umlaut":         {spec: `{"labelSelector":{"ä":"x"}}`, want: "keys must be valid label keys"},
		"32 keys of 317":                {spec: `{"labelSelector":` + strings.ReplaceAll(labelsJSON(32), "label-", prefix+"/"+long[3:]) + `}`},
		"a Secret's name":               {spec: `{"endpointSecurity":{"secretName":"a-b.c9"}}`},
		"a Secret's name of 253":        {spec: `{"endpointSecurity":{"secretName":"` + prefix + `"}}`},
		"a Secret's name of 254":        {spec: `{"endpointSecurity":{"secretName":"` + prefix + `x"}}`, want: "spec.endpointSecurity.secretName: Too long"},
		"a Secret's name with _":        {spec: `{"endpointSecurity":{"secretName":"a_b"}}`, want: "must be a DNS subdomain"},
		"a Secret's name with A":        {spec: `{"endpointSecurity":{"secretName":"A"}}`, want: "must be a DNS subdomain"},
		"a Secret's name ends in .":     {spec: `{"endpointSecurity":{"secretName":"a."}}`, want: "must be a DNS subdomain"},
		"a Secret's name with two dots": {spec: `{"endpointSecurity":{"secretName":"a..b"}}`, want: "must be a DNS subdomain"},
		"a Secret's name with a line":   {spec: `{"endpointSecurity":{"secretName":"a\n"}}`, want: "must be a DNS subdomain"},
		"a value with a space":          {spec: `{"labelSelector":{"app":"my app"}}`, want: "spec.labelSelector.app in body should match"},
		"a value that ends in -":        {spec: `{"labelSelector":{"app":"x-"}}`, want: "spec.labelSelector.app in body should match"},
		"a long value":                  {spec: `{"labelSelector":{"app":"` + long + `"}}`, want: "spec.labelSelector.app: Too long"},
		"many labels":                   {spec: `{"labelSelector":` + labelsJSON(33) + `}`, want: "must have at most 32 items"},
		"no port":                       {spec: `{"port":null}`},
		"port 0":                        {spec: `{"port":0}`, want: "spec.port in body should be greater than or equal to 1"},
		"port 1":                        {spec: `{"port":1}`},
		"port 65535":                    {spec: `{"port":65535}`},
		"port 65536":                    {spec: `{"port":65536}`, want: "spec.port in body should be less than or equal to 65535"},
		"a port in quotes":              {spec: `{"port":"9400"}`, want: "must be of type integer"},
		"no config":                     {spec: `{"config":null}`, want: "spec.config: Required value"},
		"an empty ConfigMap's name":     {spec: `{"config":{"configMapName":""}}`, want: "spec.config.configMapName in body should be at least 1 chars long"},
		"an empty ConfigMap's key":      {spec: `{"config":{"configMapKey":""}}`, want: "spec.config.configMapKey in body should be at least 1 chars long"},
		"no memory headroom":            {spec: `{"memoryHeadroom":null}`},
		"memory headroom 0":             {spec: `{"memoryHeadroom":0}`},
		"memory headroom 0Mi":           {spec: `{"memoryHeadroom":"0Mi"}`},
		"memory headroom 1Mi":           {spec: `{"memoryHeadroom":"1Mi"}`},
		"memory headroom in bytes":      {spec: `{"memoryHeadroom":67108864}`},
		"memory headroom of 64":         {spec: `{"memoryHeadroom":64}`, want: "must be 0 or at least 1Mi"},
		"memory headroom 64m":           {spec: `{"memoryHeadroom":"64m"}`, want: "must be 0 or at least 1Mi"},
		"memory headroom -1Mi":          {spec: `{"memoryHeadroom":"-1Mi"}`, want: "must be 0 or at least 1Mi"},
		"memory headroom is a word":     {spec: `{"memoryHeadroom":"little"}`, want: "spec.memoryHeadroom in body should match"},
		"memory headroom is a boolean":  {spec: `{"memoryHeadroom":true}`, want: "spec.memoryHeadroom in body must be of type integer,string"},
		"a long ConfigMap's name":       {spec: `{"config":{"configMapName":"` + strings.Repeat("x", 254) + `"}}`, want: "Too long"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "banzaicloud.com/v1alpha1", "kind": "PrometheusJmxExporter",
				"metadata": map[string]any{"namespace": c.namespace, "generateName": "exporter-"},
				"spec": map[string]any{
					"labelSelector": map[string]any{"app": "dummyapp"},
					"config":        map[string]any{"configMapName": "rules", "configMapKey": "config.yaml"},
					"port":          int64(9400),
				},
			}}
			var differs map[string]any
			if err := json.Unmarshal([]byte(tc.spec), &differs); err != nil {
				t.Fatal(err)
			}
			merge(e.Object["spec"].(map[string]any), differs)
			err := admin.Create(t.Context(), e)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("the API server rejects it: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

// merge puts what differs into a spec: maps of scalars into maps, null deletes.
func merge(spec, differs map[string]any) {
	for key, value := range differs {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(spec, key)
		case isMap && key == "config":
			merge(spec[key].(map[string]any), inner)
		default:
			if number, ok := value.(float64); ok {
				value = int64(number)
			}
			spec[key] = value
		}
	}
}

func labelsJSON(n int) string {
	labels := map[string]string{}
	for i := range n {
		labels[fmt.Sprintf("label-%d", i)] = "x"
	}
	data, _ := json.Marshal(labels)
	return string(data)
}

// requirementsJSON returns a spec with this many requirements on labels, each of this many of the
// longest values.
func requirementsJSON(n, values int) string {
	var required []v1alpha1.LabelRequirement
	for i := range n {
		r := v1alpha1.LabelRequirement{Key: fmt.Sprintf("label-%d", i), Operator: metav1.LabelSelectorOpIn}
		for j := range values {
			r.Values = append(r.Values, v1alpha1.LabelValue(fmt.Sprintf("%063d", j)))
		}
		required = append(required, r)
	}
	data, _ := json.Marshal(map[string]any{"labelSelector": nil, "selector": map[string]any{"matchExpressions": required}})
	return string(data)
}

func TestPodOfAnAttachmentIsImmutable(t *testing.T) {
	t.Parallel()
	s, _ := annotated(t)
	a := s.attachment(s.pod)
	a.Spec.Pod.UID = "another"
	if err := admin.Update(t.Context(), a); err == nil || !strings.Contains(err.Error(), "pod is immutable") {
		t.Errorf("got error %v, want %q", err, "pod is immutable")
	}
	a = s.attachment(s.pod)
	a.Status.Phase = "Verified"
	if err := admin.Status().Update(t.Context(), a); err == nil || !strings.Contains(err.Error(), "Unsupported value") {
		t.Errorf("got error %v, want %q", err, "Unsupported value")
	}
}

// The manifest of the 2018 operator is the compatibility test: it stays unchanged, byte
// for byte, and the API server accepts it.
func TestManifestOfTheAncestor(t *testing.T) {
	t.Parallel()
	const golden = "8c4cdb1a46f978e3bfed7ae34acddd518176f587544282ba16f5711bf355d035"
	manifest, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "prometheusjmxexporter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(manifest)
	if got := hex.EncodeToString(sum[:]); got != golden {
		t.Errorf("config/samples/prometheusjmxexporter.yaml has changed: its SHA-256 is %s", got)
	}
	c := newCluster(t)
	var e v1alpha1.PrometheusJmxExporter
	if err := yaml.UnmarshalStrict(manifest, &e); err != nil {
		t.Fatal(err)
	}
	e.Namespace = c.namespace
	create(t, &e)
	want := v1alpha1.PrometheusJmxExporterSpec{
		LabelSelector: map[string]v1alpha1.LabelValue{"app": "dummyapp"},
		Config:        v1alpha1.ConfigMapKey{ConfigMapName: "prometheus-jmx-exporter-config", ConfigMapKey: "config.yaml"},
		Port:          9400,

		Mode: v1alpha1.ModeAttach, Transport: v1alpha1.TransportAuto, DynamicAgentLoading: v1alpha1.DynamicAgentLoadingAllow,
		MemoryHeadroom: new(resource.MustParse("96Mi")),
		Rollout: v1alpha1.Rollout{
			MaxConcurrent: 10, MaxConcurrentPerNode: 4, RestartWindow: &metav1.Duration{Duration: time.Minute}, HaltThreshold: new(intstr.FromString("1%")),
			Canary: v1alpha1.Canary{Count: new(int32(1)), MinReadySeconds: new(int32(5))},
		},
		Detach: v1alpha1.Detach{Timeout: &metav1.Duration{Duration: 2 * time.Minute}},
	}
	if diff := cmp.Diff(want, e.Spec); diff != "" {
		t.Errorf("spec of the sample (-want +got):\n%s", diff)
	}
}

// The tables of kubectl get, with and without -o wide, which the server generates.
func TestColumns(t *testing.T) {
	t.Parallel()
	s, o := annotated(t)
	cold := s.run(aPod("app-1"))
	s.container(cold).Fault = fault(v1alpha1.ReasonNoShell)
	o.settle()
	for resource, want := range map[string]string{
		"prometheusjmxexporters": `
			Name Phase Pods Attachable Refused Port Ready Reason(wide) Updated(wide) Problems(wide) Age
			exporter Annotated 1/2 <nil> 1 9400 False PodsRefused 2 <nil> *`,
		"jmxattachments": `
			Name Pod Phase Port Ready Reason Container(wide) JVM(wide) Agent-Loading(wide) Node(wide) Age
			` + selection.AttachmentName(s.pod) + ` app-0 Annotated 9400 True <nil> app 17.0.15 WarnsAfterUpgrade node-1 *
			` + selection.AttachmentName(cold) + ` app-1 Discovered <nil> False NoShell <nil> <nil> <nil> node-1 *`,
	} {
		if diff := cmp.Diff(strings.ReplaceAll(strings.TrimSpace(want), "\t", ""), s.table(resource)); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", resource, diff)
		}
	}
}

// table returns the table that the API server prints of a resource, with ages as *.
func (c *cluster) table(resource string) string {
	c.t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	data, err := clientset.RESTClient().Get().
		AbsPath("/apis/banzaicloud.com/v1alpha1/namespaces", c.namespace, resource).
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").
		DoRaw(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, column := range table.ColumnDefinitions {
		name := column.Name
		if column.Priority > 0 {
			name += "(wide)"
		}
		names = append(names, name)
	}
	lines := []string{strings.Join(names, " ")}
	for _, row := range table.Rows {
		var cells []string
		for i, cell := range row.Cells {
			if names[i] == "Age" {
				cell = "*"
			}
			cells = append(cells, fmt.Sprint(cell))
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return strings.Join(lines, "\n")
}

// No resource counts as reconciled before the operator has seen it: kstatus takes
// a status without a generation for Current.
func TestStatusBeforeTheOperator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	e := c.export("exporter")
	pod := c.run(aPod("app-0"))
	a := create(t, &v1alpha1.JmxAttachment{ObjectMeta: c.named("app-0"), Spec: v1alpha1.JmxAttachmentSpec{
		Pod:      v1alpha1.ObjectIdentity{Name: pod.Name, UID: pod.UID},
		Exporter: v1alpha1.ObjectIdentity{Name: e.Name, UID: e.UID},
	}})
	observed := func(object client.Object) int64 {
		read := &unstructured.Unstructured{}
		read.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(reflect.TypeOf(object).Elem().Name()))
		read.SetNamespace(object.GetNamespace())
		read.SetName(object.GetName())
		get(t, read)
		generation, _, _ := unstructured.NestedInt64(read.Object, "status", "observedGeneration")
		return generation
	}
	for _, object := range []client.Object{e, a} {
		if got := observed(object); got != -1 {
			t.Errorf("status.observedGeneration of a new %T: got %d, want -1", object, got)
		}
	}
	remove(t, a) // created by the test, not by the operator
	c.operate().settle()
	if a = c.attachment(pod); a.Status.ObservedGeneration != a.Generation || observed(e) != e.Generation {
		t.Errorf("after reconciling, observedGeneration is %d of the exporter, and %d of the JmxAttachment with generation %d", observed(e), a.Status.ObservedGeneration, a.Generation)
	}
}
