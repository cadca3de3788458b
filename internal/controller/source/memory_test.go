package source

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// contentSize is the size of each configuration in the tests of memory.
const contentSize = 257_000

// large is a configuration of contentSize bytes.
func large(name string) string {
	content := "rules: []\n# " + name + "\n"
	return content + strings.Repeat("# padding\n", (contentSize-len(content))/len("# padding\n"))
}

// largeConfigMaps are ConfigMaps with a large configuration each.
type largeConfigMaps struct {
	client.Reader
	reads int
}

// Get implements client.Reader.
func (c *largeConfigMaps) Get(_ context.Context, at client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	object.SetResourceVersion("1")
	if configMap, ok := object.(*corev1.ConfigMap); ok {
		c.reads++
		configMap.Data = map[string]string{"a": large(at.Name)}
	}
	return nil
}

// heap returns what is live.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// refer returns an exporter that refers to a ConfigMap.
func refer(namespace string, i int, configMap string) *v1alpha1.PrometheusJmxExporter {
	e := &v1alpha1.PrometheusJmxExporter{}
	e.Namespace, e.Name = namespace, fmt.Sprintf("exporter-%d", i)
	e.Spec.Config = v1alpha1.ConfigMapKey{ConfigMapName: configMap, ConfigMapKey: "a"}
	return e
}

// Exporters need memory for what is decided by their configurations, and not for the contents:
// 2 000 of one ConfigMap would otherwise take all memory that the operator has, and so would as many
// of one each. If each has a copy of its own, the measurement shows it.
func TestMemory(t *testing.T) {
	copies := func(n int) any {
		all := make([][]byte, n)
		for i := range all {
			all[i] = []byte(large("rules"))
		}
		return all
	}
	ask := func(configMap func(i int) string) func(n int) any {
		return func(n int) any {
			reader := &largeConfigMaps{}
			s := New(reader, reader, testclock.NewFakePassiveClock(begin))
			for i := range n {
				if inputs, err := s.Get(t.Context(), refer("shop", i, configMap(i))); err != nil || inputs.Problem() != nil {
					t.Fatal(err, inputs.Problem())
				}
			}
			return s
		}
	}
	for name, tc := range map[string]struct {
		exporters int
		hold      func(n int) any
		want      bool // that they need no more than a quarter of their contents
	}{
		"each has a copy":               {exporters: 200, hold: copies},
		"all refer to one ConfigMap":    {exporters: 2000, hold: ask(func(int) string { return "rules" }), want: true},
		"each refers to one of its own": {exporters: 500, hold: ask(func(i int) string { return fmt.Sprintf("rules-%d", i) }), want: true},
	} {
		before := heap()
		held := tc.hold(tc.exporters)
		needed := int64(heap()) - int64(before) //nolint:gosec // of a small process
		runtime.KeepAlive(held)
		t.Logf("%s: %d exporters need %d kB each", name, tc.exporters, needed/int64(tc.exporters)/1000)
		if got := needed < int64(tc.exporters)*contentSize/4; got != tc.want {
			t.Errorf("%s: %d exporters need %d MB, less than a quarter of their contents: got %t, want %t", name, tc.exporters, needed/1e6, got, tc.want)
		}
	}
}

// A content that is no longer in memory is read again, once for all who ask, and returned only if
// it is what was decided by.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := &configMaps{data: map[string]string{"a": "rules: []\n"}}
		s := New(reader, reader, testclock.NewFakePassiveClock(begin))
		inputs, err := s.Get(t.Context(), refer("shop", 0, "rules"))
		if err != nil || inputs.Problem() != nil || inputs.Config.Content != nil {
			t.Fatalf("got %+v with error %v, want a configuration without its content", inputs.Config, err)
		}
		ask := func(when string, reads int) {
			t.Helper()
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					if got := load(t, inputs.Config); got != "rules: []\n" {
						t.Errorf("%s: got %q", when, got)
					}
				})
			}
			if all.Wait(); reader.read != reads {
				t.Errorf("%s: the ConfigMap was read %d times, want %d", when, reader.read, reads)
			}
		}
		ask("at once", 1)
		time.Sleep(memoryIdle - time.Second)
		ask("soon", 1)
		time.Sleep(memoryIdle + time.Second)
		synctest.Wait()
		if n := len(s.files.memory.parts); n != 0 {
			t.Errorf("contents of %d namespaces are in memory, and no container got one for long", n)
		}
		ask("after a while", 2)
		for name, change := range map[string]func(){
			"the content changed":     func() { reader.data = map[string]string{"a": "rules: [{pattern: a}]\n"} },
			"the key is gone":         func() { reader.data = map[string]string{"b": "rules: []\n"} },
			"the label is required":   func() { reader.data, s.RequireLabel = map[string]string{"a": "rules: []\n"}, true },
			"the ConfigMap is gone":   func() { reader.err = apierrors.NewNotFound(schema.GroupResource{}, "rules") },
			"the API server is gone":  func() { reader.err = errors.New("no answer") },
			"another one is in place": func() { reader.data = map[string]string{"a": "rules: [] "} },
		} {
			time.Sleep(memoryIdle + time.Second)
			reader.err, s.RequireLabel = nil, false
			change()
			content, err := inputs.Config.Load(t.Context())
			known, ok := errors.AsType[*transport.Error](err)
			if content != nil || err == nil || ok != (name != "the API server is gone") || ok && known.Reason != v1alpha1.ReasonConfigChanged {
				t.Errorf("%s: got %q with error %v", name, content, err)
			}
		}
	})
}

// A namespace with more than its part of the memory takes nothing from one that has less: that
// one's contents are not read again.
func TestMemoryIsShared(t *testing.T) {
	reader := &largeConfigMaps{}
	s := New(reader, reader, testclock.NewFakePassiveClock(begin))
	get := func(namespace string, i int) steps.Input {
		t.Helper()
		inputs, err := s.Get(t.Context(), refer(namespace, i, fmt.Sprintf("%s-%d", namespace, i)))
		if err != nil || inputs.Problem() != nil {
			t.Fatal(err, inputs.Problem())
		}
		return inputs.Config
	}
	const few, many = 20, 200
	var innocent []steps.Input
	for i := range few {
		innocent = append(innocent, get("innocent", i))
	}
	for i := range many {
		load(t, get("greedy", i))
	}
	for _, config := range innocent {
		load(t, config)
	}
	if reader.reads != few+many {
		t.Errorf("reads: got %d, want %d, since what %d exporters need is in memory", reader.reads, few+many, few)
	}
	if s.files.memory.size > memoryLimit {
		t.Errorf("contents in memory: got %d bytes, want at most %d", s.files.memory.size, memoryLimit)
	}
	greedy := get("greedy", 0)
	if load(t, greedy); reader.reads != few+many+1 {
		t.Errorf("reads: got %d, want one more, of a content that had no room", reader.reads)
	}
}

// A content that has lost its place needs no memory any more: the runtime keeps a timer that was
// stopped for as long as a quarter of all timers.
func TestRemovedIsFreed(t *testing.T) {
	const many, size = 100, 1000
	m := memory{limit: many * (size + entrySize), idle: memoryIdle}
	var refs []weak.Pointer[byte]
	for i := range many + 1 {
		content := make([]byte, size)
		refs = append(refs, weak.Make(&content[0]))
		m.put("shop", fmt.Sprint(i), content)
	}
	runtime.GC()
	for i, ref := range refs {
		if got, want := ref.Value() != nil, i > 0; got != want {
			t.Errorf("content %d of %d is in memory: got %t, want %t", i, len(refs), got, want)
		}
	}
	runtime.KeepAlive(m.parts)
}

// Reads need much memory while they last: a namespace has few at once, and leaves others theirs.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var reading atomic.Int32
		proceed := make(chan struct{})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				done, err := turns.take(t.Context(), "greedy")
				if err != nil {
					t.Error(err)
					return
				}
				reading.Add(1)
				<-proceed
				done()
			})
		}
		synctest.Wait()
		if n := reading.Load(); n != readsOfNamespace {
			t.Errorf("reads of one namespace at once: got %d, want %d", n, readsOfNamespace)
		}
		done, err := turns.take(t.Context(), "innocent")
		if err != nil {
			t.Fatal(err)
		}
		done()
		ctx, cancel := context.WithTimeout(t.Context(), readTimeout)
		defer cancel()
		if _, err := turns.take(ctx, "greedy"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "greedy") {
			t.Errorf("while others read: got error %v", err)
		}
		close(proceed)
		all.Wait()
		if len(turns.of) != 0 || len(turns.all) != 0 {
			t.Errorf("after all reads: got %d namespaces and %d reads", len(turns.of), len(turns.all))
		}
	})
}
