package podcache

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func sample[T any](tb testing.TB, file string) *T {
	tb.Helper()
	content, err := os.ReadFile(file)
	object := new(T)
	if err == nil {
		err = yaml.UnmarshalStrict(content, object)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return object
}

// named returns the name of one of many objects.
func named(i int) string { return fmt.Sprintf("checkout-service-7c9d8b6f5d-%05d", i) }

// podOf returns a pod as the client decodes it, with memory of its own.
func podOf(tb testing.TB, from *corev1.Pod, i int) *corev1.Pod {
	tb.Helper()
	from.Name = named(i)
	content, err := from.Marshal()
	decoded := &corev1.Pod{}
	if err == nil {
		err = decoded.Unmarshal(content)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}

// recordOf returns a record as the client decodes it.
func recordOf(tb testing.TB, from *v1alpha1.JmxAttachment, i int) *v1alpha1.JmxAttachment {
	tb.Helper()
	from.Name = named(i)
	content, err := json.Marshal(from)
	decoded := &v1alpha1.JmxAttachment{}
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(content, decoded)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}

// each returns the memory of one of many objects in a cache, in bytes.
func each(tb testing.TB, n int, object func(i int) any) float64 {
	tb.Helper()
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	for i := range n {
		if err := store.Add(object(i)); err != nil {
			tb.Fatal(err)
		}
		if i%100 == 0 { // most objects come one by one, with collections between them
			runtime.GC()
		}
	}
	after := live()
	runtime.KeepAlive(store)
	return float64(after-before) / float64(n)
}

// kinds are what may be cached: pods as the API server has them, the same ones trimmed, and
// so on.
func kinds(tb testing.TB) map[string]func(i int) any {
	tb.Helper()
	pod, record := sample[corev1.Pod](tb, "testdata/pod.yaml"), sample[v1alpha1.JmxAttachment](tb, "testdata/record.yaml")
	sharedPods, sharedRecords := Pods(), Records()
	return map[string]func(i int) any{
		"pod as the API server has it": func(i int) any { return podOf(tb, pod, i) },
		"pod trimmed": func(i int) any {
			trimmed, _ := Trim(podOf(tb, pod, i))
			return trimmed
		},
		"pod trimmed and shared": func(i int) any {
			shared, _ := sharedPods(podOf(tb, pod, i))
			return shared
		},
		"pod's name and labels": func(i int) any {
			all := podOf(tb, pod, i)
			stub := &corev1.Pod{}
			stub.Name, stub.Namespace, stub.UID, stub.ResourceVersion, stub.Labels = all.Name, all.Namespace, all.UID, all.ResourceVersion, all.Labels
			return stub
		},
		"record as the API server has it": func(i int) any { return recordOf(tb, record, i) },
		"record shared": func(i int) any {
			shared, _ := sharedRecords(recordOf(tb, record, i))
			return shared
		},
	}
}

// BenchmarkMemory reports the memory of an object in the cache.
func BenchmarkMemory(b *testing.B) {
	for kind, object := range kinds(b) {
		b.Run(kind, func(b *testing.B) {
			var bytes float64
			for b.Loop() {
				bytes = each(b, 2000, object)
			}
			b.ReportMetric(bytes, "B/object")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The memory with which docs/scale.md calculates, in bytes; that of the process is what an
// operator without exporters needs.
const (
	memoryOfPod     = 3000
	memoryOfRecord  = 3000
	memoryOfProcess = 64 << 20
	// memoryOfListedPod is that of a pod in a list that is sent as a whole.
	memoryOfListedPod = 13_000
)

// A pod and a record need at most the memory that is documented.
func TestMemory(t *testing.T) {
	all := kinds(t)
	for kind, limit := range map[string]float64{"pod trimmed and shared": memoryOfPod, "record shared": memoryOfRecord} {
		if got := each(t, 2000, all[kind]); got > limit {
			t.Errorf("memory of a %s: got %.0f bytes, want at most %.0f", kind, got, limit)
		}
	}
}

// docs/scale.md has the table that follows from it. The heap may grow to twice of what is in
// it before Go's collector runs.
func TestMemoryTable(t *testing.T) {
	table := "| pods in the cluster | attached pods | in the cache | memory limit | the same before Kubernetes 1.34 |\n| --- | --- | --- | --- | --- |\n"
	for _, fleet := range []struct{ pods, attached int }{
		{1000, 1000}, {5000, 5000}, {20_000, 5000}, {20_000, 20_000}, {60_000, 5000}, {100_000, 5000}, {100_000, 100_000},
	} {
		limit := func(bytes int) int {
			const step = 64 << 20
			return (memoryOfProcess + bytes + step - 1) / step * step >> 20
		}
		objects := fleet.pods*memoryOfPod + fleet.attached*memoryOfRecord
		table += fmt.Sprintf("| %d | %d | %d MiB | %dMi | %dMi |\n", fleet.pods, fleet.attached, objects>>20,
			limit(2*objects), limit(max(2*objects, objects+fleet.pods*memoryOfListedPod)))
	}
	page, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table) {
		t.Errorf("docs/scale.md lacks this table:\n%s", table)
	}
}
