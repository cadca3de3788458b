//go:build linux

package jvm

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"
)

// Memory is what a running JVM says about the memory that its options limit. A limit of 0
// is none; where there is one, a use of 0 is not known: no JVM uses nothing.
type Memory struct {
	// OnOutOfMemory is the option by which the JVM exits, crashes, writes a dump or runs
	// a command at an OutOfMemoryError; empty if there is none.
	OnOutOfMemory string
	// Heap is the heap after the last collection. If that is not known, HeapError says
	// why (see HeapAfterCollection), and Heap.Used counts garbage too.
	Heap      Space
	HeapError error
	// Metaspace is what classes take, and ClassSpace the part of it that compressed class
	// pointers reach. Used is what is committed: free chunks may not fit.
	Metaspace, ClassSpace Space
	// CodeCache is the compiled code.
	CodeCache Space
}

// Memory asks the JVM, whose attach listener must be running, by the diagnostic commands
// VM.flags, GC.heap_info, Compiler.codecache and VM.metaspace, which stop none of the
// application's threads. What a JVM does not say is 0: Java 8 has no Compiler.codecache.
func (p Process) Memory(ctx context.Context) (Memory, error) {
	var failed error
	ask := func(command string) string {
		code, answer, err := p.execute(ctx, maxReply, "jcmd", command)
		if err != nil {
			failed = asError(err)
		}
		if err != nil || code != 0 {
			return ""
		}
		return answer
	}
	flags, info, code := ask("VM.flags"), ask("GC.heap_info"), ask("Compiler.codecache")
	if failed == nil && !strings.Contains(info, "Metaspace") { // since JDK 26
		info += ask("VM.metaspace basic")
	}
	if failed != nil {
		return Memory{}, failed
	}
	m := parseMemory(flags, info, code)
	heap, err := p.HeapAfterCollection()
	if err == nil {
		m.Heap = Space{Limit: min(heap.Limit, m.Heap.Limit), Used: heap.Used}
	}
	m.HeapError = err
	return m, nil
}

func parseMemory(flags, info, code string) Memory {
	options := parseVMFlags(flags)
	return Memory{
		OnOutOfMemory: onOutOfMemory(options),
		Heap:          Space{Limit: flagValue(options, "MaxHeapSize"), Used: usedHeap(info)},
		Metaspace:     Space{Limit: flagValue(options, "MaxMetaspaceSize"), Used: area(info, "Metaspace", "committed")},
		ClassSpace:    Space{Limit: cmp.Or(flagValue(options, "CompressedClassSpaceSize"), area(info, "class space", "reserved")), Used: area(info, "class space", "committed")},
		CodeCache:     codeCache(code),
	}
}

// parseVMFlags returns the options that differ from their default: "-XX:A=1 -XX:+B". The
// value of a string is not quoted, and may contain spaces.
func parseVMFlags(answer string) []string {
	var options []string
	for option := range strings.SplitSeq(strings.TrimSpace(answer), "-XX:") {
		if option = strings.TrimSpace(option); option != "" {
			options = append(options, "-XX:"+option)
		}
	}
	return options
}

// flagValue returns the value of an option that is a number; 0 if there is none.
func flagValue(options []string, name string) int64 {
	for _, option := range options {
		if value, found := strings.CutPrefix(option, "-XX:"+name+"="); found {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

var (
	// usedOf matches the used memory of a generation or heap: "used 1056K", or "1280K
	// used" of Shenandoah.
	usedOf = regexp.MustCompile(`\bused (\d+)([BKMG])|\b(\d+)([BKMG]) used`)
	// sizeAt matches a size with its unit.
	sizeAt = regexp.MustCompile(`^(\d+)([BKMG])`)
	// codeOf matches the sizes of code heaps, in kilobytes.
	codeOf = regexp.MustCompile(`(?m)^(CodeCache|CodeHeap)\b.*size=(\d+)Kb,? used=(\d+)Kb`)
)

// usedHeap sums up what GC.heap_info says of each generation.
func usedHeap(info string) (used int64) {
	for line := range strings.Lines(info) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Metaspace") || strings.HasPrefix(line, "class space") {
			continue
		}
		if m := usedOf.FindStringSubmatch(line); m != nil {
			used += size(m[1]+m[3], m[2]+m[4])
		}
	}
	return used
}

// area returns what GC.heap_info says is committed or reserved of an area.
func area(info, name, what string) int64 {
	for line := range strings.Lines(info) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), name); found {
			if _, rest, found = strings.Cut(rest, what+" "); found {
				if m := sizeAt.FindStringSubmatch(rest); m != nil {
					return size(m[1], m[2])
				}
			}
		}
	}
	return 0
}

// codeCache returns the sum of the code heaps. Where one is full, code goes to another.
func codeCache(answer string) (sum Space) {
	for _, m := range codeOf.FindAllStringSubmatch(answer, -1) {
		cache := Space{Limit: size(m[2], "K"), Used: size(m[3], "K")}
		if m[1] == "CodeCache" { // is already the sum
			return cache
		}
		sum.Limit += cache.Limit
		sum.Used += cache.Used
	}
	return sum
}

// size returns a number of bytes with a unit, 0 if it is not one.
func size(digits, unit string) int64 {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0
	}
	return n << map[string]int{"B": 0, "K": 10, "M": 20, "G": 30}[unit]
}
