//go:build linux

package helper

import (
	"cmp"
	"context"
	"fmt"

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
	if heap, err := p.HeapAfterCollection(); err == nil {
		return checkHeap(p.Flags.OnOutOfMemory, heap, nil)
	}
	return nil // checkRoom says what is not known.
}

// checkRoom refuses to start the agent in a JVM, whose attach listener must be running, if
// too little of its heap, metaspace or code cache is free.
func checkRoom(ctx context.Context, p jvm.Process) error {
	memory, err := p.Memory(ctx)
	if err != nil {
		return err
	}
	if on := cmp.Or(memory.OnOutOfMemory, p.Flags.OnOutOfMemory); on != "" {
		if err := checkHeap(on, memory.Heap, memory.HeapError); err != nil {
			return err
		}
	}
	for _, space := range []struct {
		name, option string
		jvm.Space
		need  int64
		lacks string
	}{
		{"metaspace", "-XX:MaxMetaspaceSize", memory.Metaspace, neededMetaspace, "the application's next class could fail to load"},
		{"compressed class space", "-XX:CompressedClassSpaceSize", memory.ClassSpace, neededClassSpace, "the application's next class could fail to load"},
		{"code cache", "-XX:ReservedCodeCacheSize", memory.CodeCache, neededCodeCache, "the application's code could be compiled no longer"},
	} {
		if err := checkSpaceOf(space.name, space.option, space.Space, space.need, space.lacks); err != nil {
			return err
		}
	}
	return nil
}

// checkSpaceOf refuses a JVM whose metaspace or code cache has too little room for the
// agent, or does not say how much it has.
func checkSpaceOf(name, option string, space jvm.Space, need int64, lacks string) error {
	switch {
	case space.Limit == 0:
		return nil
	case space.Used == 0:
		return helperapi.Errorf(helperapi.ReasonInsufficientMetaspace, "The JVM limits its %s to %d MiB (%s) and does not say how much of it is used (jcmd GC.heap_info, VM.metaspace), so it cannot be known whether the agent has room. Update the JVM, or remove the option.",
			name, space.Limit/mib, option)
	case space.Free() < need:
		return helperapi.Errorf(helperapi.ReasonInsufficientMetaspace, "The agent needs %d MiB of the JVM's %s, and less than %d of %d MiB are free: %s. Raise %s.",
			need/mib, name, min(inMiB(space.Free()+1, 2), inMiB(need, 1)), space.Limit/mib, lacks, option)
	}
	return nil
}

// checkHeap refuses a heap with too little free memory for a collection, in a JVM that does
// something about an OutOfMemoryError, such as exit. It counts garbage if that is not known,
// for a reason.
func checkHeap(onOutOfMemory string, heap jvm.Space, garbageUnknown error) error {
	need := max(neededHeap, heap.Limit/10)
	switch {
	case heap.Limit == 0 || heap.Used == 0:
		return helperapi.Errorf(helperapi.ReasonInsufficientHeap, "The JVM runs with %s, and does not say how much of its heap is free (jcmd VM.flags, GC.heap_info). Update the JVM, or remove the option.", onOutOfMemory)
	case heap.Free() >= need:
		return nil
	}
	garbage := ""
	if garbageUnknown != nil {
		garbage = fmt.Sprintf(" How much of it is garbage is not known: %v.", garbageUnknown)
	}
	return helperapi.Errorf(helperapi.ReasonInsufficientHeap, "The JVM runs with %s, and a scrape takes a part of its heap: %d MiB must be free after a garbage collection, and less than %d of %d MiB are.%s Raise -Xmx, lower the application's use, or remove the option.",
		onOutOfMemory, inMiB(need, 1), min(inMiB(heap.Free()+1, freeStep), inMiB(need, 1), heap.Limit/mib), heap.Limit/mib, garbage)
}
