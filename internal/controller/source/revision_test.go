package source

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// keeping is a cache with a ConfigMap, and an API server with its content, and with
// ControllerRevisions by their names.
type keeping struct {
	client.Reader
	config string
	kept   map[string][]byte
	err    error // of a read of a ControllerRevision
	reads  atomic.Int32
}

// Get implements client.Reader.
func (k *keeping) Get(_ context.Context, at client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetResourceVersion("1")
	switch o := object.(type) {
	case *corev1.ConfigMap:
		o.Data = map[string]string{"a": k.config}
	case *corev1.Secret:
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, at.Name)
	case *appsv1.ControllerRevision:
		data, ok := k.kept[at.Name]
		if !ok {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "controllerrevisions"}, at.Name)
		}
		o.UID, o.Data = types.UID(at.Name), runtime.RawExtension{Raw: data}
		k.reads.Add(1)
		return k.err
	}
	return nil
}

// A pod has the kept configuration of its revision only if that revision is what exporter,
// Secret and operator still ask for.
func TestKeptOfRevision(t *testing.T) {
	const before, invalid = "rules: [{pattern: a}]\n", "rules: {"
	artifacts := &steps.Artifacts{Agent: transport.NewBlob("agent-", []byte("agent"), ".jar")}
	exporterOf := func() *v1alpha1.PrometheusJmxExporter {
		e := &v1alpha1.PrometheusJmxExporter{}
		e.Name, e.UID, e.Spec.Port = "exporter", "exporter", 9400
		e.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
		return e
	}
	data := func(content string) []byte { return RevisionData(exporterOf(), []byte(content)).Raw }
	revisionOf := func(content string) string {
		return steps.Revision(exporterOf(), steps.Inputs{Config: steps.Input{Blob: configBlob([]byte(content))}}, artifacts)
	}
	revision := revisionOf(before)
	type world struct {
		*keeping
		exporter  *v1alpha1.PrometheusJmxExporter
		artifacts *steps.Artifacts
		revision  string
	}
	keeps := func(content string) func(*world) {
		return func(w *world) { w.kept[selection.RevisionName(w.exporter, revision)] = data(content) }
	}
	for name, tc := range map[string]struct {
		how  func(*world)
		want string // the configuration; empty for none
		err  bool
	}{
		"the process rules cannot be used": {how: func(w *world) { w.exporter.Spec.Processes = []v1alpha1.ProcessRule{{MainClass: "("}} }, want: before},
		"the process rules are others":     {how: func(w *world) { w.exporter.Spec.Processes = []v1alpha1.ProcessRule{{MainClass: "a"}} }},
		"the pod was granted nothing":      {how: func(w *world) { w.revision = "" }},
		"it is kept":                       {how: func(*world) {}, want: before},
		"it is not kept":                   {how: func(w *world) { clear(w.kept) }},
		"another revision is kept":         {how: func(w *world) { w.revision = "0123456789abcdef" }},
		"somebody else wrote it":           {how: keeps("rules: [{pattern: b}]\n")},
		"it has no configuration":          {how: func(w *world) { w.kept[selection.RevisionName(w.exporter, revision)] = []byte(`{"spec":{}}`) }},
		"it has another type":              {how: func(w *world) { w.kept[selection.RevisionName(w.exporter, revision)] = []byte(`[]`) }},
		"the port changed":                 {how: func(w *world) { w.exporter.Spec.Port = 9500 }},
		"the exporter is another one":      {how: func(w *world) { w.exporter.UID = "its successor" }},
		"the agent is another one":         {how: func(w *world) { w.artifacts = &steps.Artifacts{} }},
		"the exporter asks for security":   {how: func(w *world) { w.exporter.Spec.EndpointSecurity = &v1alpha1.EndpointSecurity{SecretName: "metrics"} }},
		"the operator may not read it":     {how: func(w *world) { w.err = apierrors.NewForbidden(schema.GroupResource{}, "", nil) }, err: true},
		"it cannot be read":                {how: func(w *world) { w.err = errors.New("no answer") }, err: true},
		"this operator rejects its configuration": {how: func(w *world) {
			w.kept[selection.RevisionName(w.exporter, revisionOf(invalid))], w.revision = data(invalid), revisionOf(invalid)
		}},
	} {
		w := &world{&keeping{config: invalid, kept: map[string][]byte{}}, exporterOf(), artifacts, revision}
		keeps(before)(w)
		tc.how(w)
		s := New(w.keeping, w.keeping, testclock.NewFakePassiveClock(begin))
		current, err := s.Get(t.Context(), w.exporter)
		if err != nil {
			t.Fatal(err)
		}
		inputs, err := s.Kept(t.Context(), w.exporter, current.Security, w.revision, w.artifacts)
		if (err != nil) != tc.err {
			t.Errorf("%s: got error %v", name, err)
		}
		got := ""
		if inputs != nil {
			got = load(t, inputs.Config)
		}
		if got != tc.want {
			t.Errorf("%s: got configuration %q, want %q", name, got, tc.want)
		}
	}
}

// load returns the content of an input.
func load(t *testing.T, input steps.Input) string {
	t.Helper()
	content, err := input.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// waiting is an API server that answers only when it may.
type waiting struct {
	*keeping
	may chan struct{}
}

// Get implements client.Reader.
func (w waiting) Get(ctx context.Context, at client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, revision := object.(*appsv1.ControllerRevision); revision {
		<-w.may
	}
	return w.keeping.Get(ctx, at, object, options...)
}

// A kept configuration is read once for all pods that ask, at once and later. It is forgotten
// when the ConfigMap changes, and with its exporter.
func TestKeptIsReadOnce(t *testing.T) {
	exporter, artifacts := &v1alpha1.PrometheusJmxExporter{}, &steps.Artifacts{}
	exporter.Name = "exporter"
	exporter.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: "rules", ConfigMapKey: "a"}
	content := []byte("rules: []\n")
	revision := steps.Revision(exporter, steps.Inputs{Config: steps.Input{Blob: configBlob(content)}}, artifacts)
	k := &keeping{config: "rules: {", kept: map[string][]byte{selection.RevisionName(exporter, revision): RevisionData(exporter, content).Raw}}
	s := New(k, k, testclock.NewFakePassiveClock(begin))
	synctest.Test(t, func(t *testing.T) {
		slow := waiting{k, make(chan struct{})}
		s.revisions.live = slow
		var all sync.WaitGroup
		ask := func() {
			inputs, err := s.Kept(t.Context(), exporter, steps.Security{}, revision, artifacts)
			if err != nil || inputs == nil {
				t.Errorf("got %v with error %v", inputs, err)
			}
		}
		for range 100 {
			all.Go(ask)
		}
		synctest.Wait() // all of them wait for the answer
		close(slow.may)
		all.Wait()
		for range 100 {
			ask()
		}
		s.revisions.live = k
		if n := k.reads.Load(); n != 1 {
			t.Errorf("reads of the ControllerRevision: got %d, want 1", n)
		}
		known := func() (n int) {
			s.revisions.known.Range(func(any, any) bool { n++; return true })
			return n
		}
		if known() != 1 {
			t.Errorf("kept configurations that are remembered: got %d, want 1", known())
		}
		if _, err := s.Get(t.Context(), exporter); err != nil || known() != 0 {
			t.Errorf("after the ConfigMap was read: got %d remembered with error %v, want none", known(), err)
		}
		if _, err := s.Kept(t.Context(), exporter, steps.Security{}, revision, artifacts); err != nil || known() != 1 {
			t.Errorf("got %d remembered with error %v, want 1", known(), err)
		}
		if _, err := s.Get(t.Context(), exporter); err != nil || known() != 1 {
			t.Errorf("while the ConfigMap is unchanged: got %d remembered with error %v, want 1", known(), err)
		}
		if s.Forget(client.ObjectKeyFromObject(exporter)); known() != 0 {
			t.Errorf("kept configurations of a deleted exporter: got %d, want none", known())
		}
	})
}

// A failed read is repeated after a while, for all pods once.
func TestKeptIsReadAgain(t *testing.T) {
	exporter, artifacts := &v1alpha1.PrometheusJmxExporter{}, &steps.Artifacts{}
	exporter.Name = "exporter"
	content := []byte("rules: []\n")
	revision := steps.Revision(exporter, steps.Inputs{Config: steps.Input{Blob: configBlob(content)}}, artifacts)
	k := &keeping{kept: map[string][]byte{selection.RevisionName(exporter, revision): RevisionData(exporter, content).Raw}, err: errors.New("no answer")}
	clock := testclock.NewFakePassiveClock(begin)
	s := New(k, k, clock)
	ask := func(when string, reads int32, ok bool) {
		t.Helper()
		inputs, err := s.Kept(t.Context(), exporter, steps.Security{}, revision, artifacts)
		if (inputs != nil) != ok || (err == nil) != ok || k.reads.Load() != reads {
			t.Errorf("%s: got %v with error %v after %d reads, want %t after %d", when, inputs, err, k.reads.Load(), ok, reads)
		}
	}
	ask("at first", 1, false)
	ask("at once", 1, false)
	clock.SetTime(begin.Add(RetryKept))
	k.err = nil
	ask("later", 2, true)
	clock.SetTime(begin.Add(24 * time.Hour))
	ask("much later", 2, true)
}

// A configuration that was not kept is looked for again after a while: the answer to the write
// that keeps it may come late.
func TestNotKeptIsReadAgain(t *testing.T) {
	exporter, artifacts := &v1alpha1.PrometheusJmxExporter{}, &steps.Artifacts{}
	exporter.Name = "exporter"
	content := []byte("rules: []\n")
	revision := steps.Revision(exporter, steps.Inputs{Config: steps.Input{Blob: configBlob(content)}}, artifacts)
	k, clock := &keeping{kept: map[string][]byte{}}, testclock.NewFakePassiveClock(begin)
	s := New(k, k, clock)
	for _, tc := range []struct {
		when  string
		after time.Duration
		want  bool
	}{{"at first", 0, false}, {"soon", RetryKept - time.Second, false}, {"later", RetryKept, true}} {
		clock.SetTime(begin.Add(tc.after))
		inputs, err := s.Kept(t.Context(), exporter, steps.Security{}, revision, artifacts)
		if err != nil || (inputs != nil) != tc.want {
			t.Errorf("%s: got %v with error %v, want any: %t", tc.when, inputs, err, tc.want)
		}
		k.kept[selection.RevisionName(exporter, revision)] = RevisionData(exporter, content).Raw
	}
}
