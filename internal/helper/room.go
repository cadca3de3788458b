//go:build linux

package helper

import (
	"cmp"
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// What must be free in a JVM before the agent starts in it. docs/operations.md has the
// measurements behind it.
const (
	neededHeap       = 24 * mib // or a tenth of the heap
	neededMetaspace  = 10 * mib
	neededClassSpace = 2 * mib
	neededCodeCache  = 10 * mib
)

// checkHeapBefore refuses a JVM whose heap is known to be too small before it is attached
// to: already the attach listener takes some of it.
func checkHeapBefore(p jvm.Process) error {
	if p.Flags.OnOutOfMemory == "" {
		return nil
	}
	heap, known := p.HeapAfterCollection()
	if !known {
		return nil
	}
	return checkHeap(p.Flags.OnOutOfMemory, heap, true)
}

// checkRoom refuses to start the agent in a JVM, whose attach listener must be running, if
// too little of its heap, metaspace or code cache is free.
func checkRoom(ctx context.Context, p jvm.Process) error {
	memory, err := p.Memory(ctx)
	if err != nil {
		return err
	}
	if on := cmp.Or(memory.OnOutOfMemory, p.Flags.OnOutOfMemory); on != "" {
		if err := checkHeap(on, memory.Heap, memory.AfterCollection); err != nil {
			return err
		}
	}
	for _, space := range []struct {
		name, option string
		jvm.Space
		need int64
	}{
		{"metaspace", "-XX:MaxMetaspaceSize", memory.Metaspace, neededMetaspace},
		{"compressed class space", "-XX:CompressedClassSpaceSize", memory.ClassSpace, neededClassSpace},
		{"code cache", "-XX:ReservedCodeCacheSize", memory.CodeCache, neededCodeCache},
	} {
		if space.Limit > 0 && space.Free() < space.need {
			return helperapi.Errorf(helperapi.ReasonInsufficientMetaspace, "The agent's classes need %d MiB of the JVM's %s, and less than %d of %d MiB are free; without them, the application's next class could fail, or its code be compiled no more. Raise %s.",
				space.need/mib, space.name, inMiB(space.Free()+1, 1), space.Limit/mib, space.option)
		}
	}
	return nil
}

// checkHeap refuses a heap with too little free memory for a collection, in a JVM that does
// something about an OutOfMemoryError, such as exit.
func checkHeap(onOutOfMemory string, heap jvm.Space, afterCollection bool) error {
	need := max(neededHeap, heap.Limit/10)
	if heap.Limit > 0 && heap.Free() >= need {
		return nil
	}
	known := ""
	if !afterCollection {
		known = " How much of it is garbage is not known: the JVM has not collected any yet, or shows no performance counters (-XX:-UsePerfData, -XX:+PerfDisableSharedMem)."
	}
	return helperapi.Errorf(helperapi.ReasonInsufficientHeap, "The JVM runs with %s, and a scrape takes a part of its heap: %d MiB must be free after a garbage collection, and less than %d of %d MiB are.%s Raise -Xmx, lower the application's use, or remove the option.",
		onOutOfMemory, inMiB(need, 1), min(inMiB(heap.Free()+1, freeStep), inMiB(need, 1), heap.Limit/mib), heap.Limit/mib, known)
}
