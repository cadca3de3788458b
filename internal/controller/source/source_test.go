package source

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// configMaps has every ConfigMap, and counts full reads.
type configMaps struct {
	client.Reader
	read   int
	labels map[string]string
	data   map[string]string // if not the default
	err    error             // of a full read
}

func (c *configMaps) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetResourceVersion("1")
	if configMap, ok := object.(*corev1.ConfigMap); ok {
		c.read++
		configMap.Labels = c.labels
		configMap.Data = map[string]string{"a": "rules: []\n", "b": "rules: [{pattern: b}]\n"}
		if c.data != nil {
			configMap.Data = c.data
		}
		return c.err
	}
	return nil
}

// Where labels are required, a ConfigMap without one is no configuration.
func TestRequireLabel(t *testing.T) {
	exporter := &v1alpha1.PrometheusJmxExporter{}
	exporter.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
	for name, tc := range map[string]struct {
		required bool
		labels   map[string]string
		want     bool
	}{
		"the label is not required":          {want: true},
		"the label is missing":               {required: true, labels: map[string]string{"app": "shop"}},
		"the label has any value":            {required: true, labels: map[string]string{v1alpha1.LabelRules: ""}, want: true},
		"the label is set, and not required": {labels: map[string]string{v1alpha1.LabelRules: ""}, want: true},
	} {
		reader := &configMaps{labels: tc.labels}
		s := New(reader, reader, nil)
		s.RequireLabel = tc.required
		config, err := s.Get(t.Context(), exporter)
		if err != nil || (config.Config.Problem == nil) != tc.want {
			t.Errorf("%s: got problem %v, %v", name, config.Config.Problem, err)
		}
		if p := config.Config.Problem; p != nil && (p.Reason != v1alpha1.ReasonConfigMapUnlabeled || !strings.Contains(p.Message, v1alpha1.LabelRules)) {
			t.Errorf("%s: unexpected problem %+v", name, p)
		}
	}
}

// What the exporter ignores is accepted, with a warning that says what and where.
func TestWarning(t *testing.T) {
	const accepted = "ConfigMap rules, key a is accepted, but the exporter ignores "
	for name, tc := range map[string]struct {
		content string
		want    *steps.Problem
	}{
		"nothing is ignored": {content: "rules: []"},
		"an unknown key": {content: "rule: []", want: &steps.Problem{Reason: v1alpha1.ReasonUnknownKeysIgnored,
			Message: accepted + `keys that it does not know: those on line 1 (did you mean "rules"?).`}},
		"a file of the standalone exporter": {content: "hostPort: localhost:5555\nssl: false\nrules: []", want: &steps.Problem{Reason: v1alpha1.ReasonKeysIgnored,
			Message: accepted + "keys without effect in an agent: hostPort, ssl."}},
		"a repeated key": {content: "rules: 1\nrules: []", want: &steps.Problem{Reason: v1alpha1.ReasonKeysIgnored,
			Message: accepted + "all but the last of repeated keys: those on line 1 (again on line 2)."}},
		"all at once": {content: "x: 1\nssl: true\nrules: 1\nrules: []", want: &steps.Problem{Reason: v1alpha1.ReasonUnknownKeysIgnored,
			Message: accepted + "keys that it does not know: those on line 1; keys without effect in an agent: ssl; all but the last of repeated keys: those on line 3 (again on line 4)."}},
	} {
		exporter := &v1alpha1.PrometheusJmxExporter{}
		exporter.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
		reader := &configMaps{data: map[string]string{"a": tc.content}}
		got, err := New(reader, reader, nil).Get(t.Context(), exporter)
		if err != nil || got.Config.Problem != nil {
			t.Errorf("%s: got problem %v, %v", name, got.Config.Problem, err)
		}
		if diff := cmp.Diff(tc.want, got.Config.Warning); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// A configuration is read once, and cached as long as its exporter exists and refers to
// it.
func TestKept(t *testing.T) {
	reader := &configMaps{}
	s := New(reader, reader, nil)
	exporter := &v1alpha1.PrometheusJmxExporter{}
	get := func(name, key string) string {
		t.Helper()
		exporter.Name, exporter.Spec.Config = name, v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: key}
		config, err := s.Get(t.Context(), exporter)
		if err != nil || config.Config.Problem != nil {
			t.Fatal(err, config.Config.Problem)
		}
		return config.Config.SHA256
	}
	a := get("one", "a")
	if get("one", "a") != a || reader.read != 1 {
		t.Errorf("reads: got %d, want 1", reader.read)
	}
	if get("one", "b") == a || get("one", "a") != a {
		t.Error("another key has the same content")
	}
	for i := range 100 {
		name := fmt.Sprintf("preview-%d", i)
		get(name, "a")
		s.Forget(client.ObjectKey{Name: name})
	}
	if users, known := len(s.configs.users), len(s.configs.known); users != 1 || known != 1 {
		t.Errorf("known of one exporter: got %d exporters and %d configurations, want 1 each", users, known)
	}
}

// changing is a ConfigMap whose metadata lag behind in the cache, and whose reads take until
// all have asked.
type changing struct {
	client.Reader
	cached, live string
	reads        atomic.Int32
	asked        *sync.WaitGroup
}

func (c *changing) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	configMap, ok := object.(*corev1.ConfigMap)
	if !ok {
		object.SetResourceVersion(c.cached)
		c.asked.Done()
		return nil
	}
	c.reads.Add(1)
	c.asked.Wait()
	configMap.ResourceVersion, configMap.Data = c.live, map[string]string{"a": "rules: []\n"}
	return nil
}

// All pods of an exporter ask when its ConfigMap changes, some before the cache has the
// change: it is read once.
func TestReadOnce(t *testing.T) {
	const pods = 100
	synctest.Test(t, func(t *testing.T) {
		c := &changing{cached: "9", live: "10", asked: &sync.WaitGroup{}}
		s := New(c, c, nil)
		exporter := &v1alpha1.PrometheusJmxExporter{}
		exporter.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
		get := func() {
			if config, err := s.Get(t.Context(), exporter); err != nil || config.Config.Problem != nil {
				t.Error(err, config.Config.Problem)
			}
		}
		c.asked.Add(pods)
		var all sync.WaitGroup
		for range pods {
			all.Go(get)
		}
		all.Wait()
		c.asked.Add(1)
		get()
		c.cached = "10"
		c.asked.Add(1)
		get()
		if n := c.reads.Load(); n != 1 {
			t.Errorf("reads: got %d, want 1", n)
		}
		c.cached, c.live = "11", "11"
		c.asked.Add(1)
		get()
		if n := c.reads.Load(); n != 2 {
			t.Errorf("reads after another change: got %d, want 2", n)
		}
	})
}

// listed is a cache with exporters.
type listed struct {
	*configMaps
	exporters []v1alpha1.PrometheusJmxExporter
}

// List implements client.Reader.
func (l *listed) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.PrometheusJmxExporterList).Items = l.exporters
	return nil
}

// Of too many exporters in a namespace, the oldest have a configuration. The next one has it as
// soon as there is room.
func TestTooManyExporters(t *testing.T) {
	const most = 3
	cache := &listed{configMaps: &configMaps{}}
	for i := range most + 2 {
		e := refer("shop", i, "rules")
		e.CreationTimestamp = metav1.NewTime(begin.Add(time.Duration(i) * time.Minute))
		cache.exporters = append(cache.exporters, *e)
	}
	s := New(cache, cache, testclock.NewFakePassiveClock(begin))
	s.MaxExporters = most
	expect := func(i int, want bool) {
		t.Helper()
		e := refer("shop", i, "rules")
		e.CreationTimestamp = metav1.NewTime(begin.Add(time.Duration(i) * time.Minute))
		inputs, err := s.Get(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		p := inputs.Problem()
		if (p == nil) != want {
			t.Errorf("exporter %d of %d: got problem %v, want a configuration: %t", i, len(cache.exporters), p, want)
		}
		if p != nil && (p.Reason != v1alpha1.ReasonTooManyExporters || !strings.Contains(p.Message, "Namespace shop has more than 3 exporters (--max-exporters-per-namespace)") || v1alpha1.AwaitsEvent(p.Reason)) {
			t.Errorf("exporter %d: got problem %+v, which is repeated by time: %t", i, p, !v1alpha1.AwaitsEvent(p.Reason))
		}
	}
	for i := range most + 2 {
		expect(i, i < most)
	}
	if users := len(s.configs.users); users != most {
		t.Errorf("exporters with a configuration: got %d, want %d", users, most)
	}
	cache.exporters = cache.exporters[1:]
	expect(most, true)
	expect(most+1, false)
	s.MaxExporters = 0
	expect(most+1, true)
}
