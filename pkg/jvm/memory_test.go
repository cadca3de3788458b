//go:build linux

package jvm

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// What the JVM says of its memory, with each collector of each version.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	collectors := map[string]int{ // since which version
		"-XX:+UseSerialGC": 8, "-XX:+UseParallelGC": 8, "-XX:+UseG1GC": 8, "-XX:+UseZGC": 17, "-XX:+UseShenandoahGC": 17,
	}
	jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
		for collector, since := range collectors {
			if jdk.Major < since {
				continue
			}
			t.Run(collector, func(t *testing.T) {
				app := jdk.Start(t, jvmtest.Options{Args: []string{collector, "-Xmx64m", "-XX:MaxMetaspaceSize=64m", "-XX:+ExitOnOutOfMemoryError", "-Djvmtest.leave=33554432"}})
				p := found(t, app.PID)
				if p.Flags.OnOutOfMemory != "-XX:+ExitOnOutOfMemoryError" {
					t.Errorf("its command line has %q", p.Flags.OnOutOfMemory)
				}
				app.Tell("fill")
				before, unknown := p.HeapAfterCollection()
				attach(t, p)
				m, err := p.Memory(deadline(t))
				if err != nil || unknown != nil || m.HeapError != nil {
					t.Fatalf("after a collection: %v, %+v, %v", unknown, m, err)
				}
				if free := before.Free() / mib; free < 24 {
					t.Errorf("of at least 32 MiB, %d are free: %+v", free, before)
				}
				if free := m.Heap.Free() / mib; free < 24 || free > 40 {
					t.Errorf("of 32 MiB, %d are free: %+v", free, m.Heap)
				}
				if m.OnOutOfMemory != "-XX:+ExitOnOutOfMemoryError" || m.Metaspace.Limit != 64*mib || m.Metaspace.Used < mib/8 || m.Metaspace.Used > 16*mib ||
					m.ClassSpace.Limit == 0 || m.ClassSpace.Used == 0 || m.ClassSpace.Used > m.Metaspace.Used || jdk.Major > 8 && (m.CodeCache.Limit < 32*mib || m.CodeCache.Used == 0) {
					t.Errorf("the JVM says %+v", m)
				}
				app.Unharmed()
			})
		}
	})
}

// Without performance counters, the used heap includes garbage.
func TestMemoryWithoutCounters(t *testing.T) {
	for _, option := range []string{"-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"} {
		t.Run(option, func(t *testing.T) {
			app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{option, "-Xmx64m", "-XX:+UseSerialGC", "-Djvmtest.leave=33554432"}})
			p := found(t, app.PID)
			app.Tell("fill")
			if heap, err := p.HeapAfterCollection(); !errors.Is(err, ErrNoCounters) {
				t.Errorf("known is %+v, %v", heap, err)
			}
			attach(t, p)
			m, err := p.Memory(deadline(t))
			if err != nil || !errors.Is(m.HeapError, ErrNoCounters) || m.Heap.Limit != 64<<20 || m.Heap.Used < 24<<20 {
				t.Errorf("the JVM says %+v, %v", m, err)
			}
		})
	}
}

// A JVM that never collects garbage would be used up by scrapes.
func TestEpsilon(t *testing.T) {
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC", "-Xms32m", "-XX:+AlwaysPreTouch"}})
	wantKind(t, found(t, app.PID).Attach(deadline(t)), UnsupportedJVM)
	app.Unharmed()
}

func TestOnOutOfMemory(t *testing.T) {
	for options, want := range map[string]string{
		"":                            "",
		"-XX:+ExitOnOutOfMemoryError": "-XX:+ExitOnOutOfMemoryError",
		"-XX:+ExitOnOutOfMemoryError -XX:-ExitOnOutOfMemoryError":          "",
		"-XX:-CrashOnOutOfMemoryError -XX:+CrashOnOutOfMemoryError":        "-XX:+CrashOnOutOfMemoryError",
		"-XX:MaxHeapSize=1 -XX:OnOutOfMemoryError=kill -9 %p -XX:+UseG1GC": "-XX:OnOutOfMemoryError",
		"-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=/x":              "-XX:+HeapDumpOnOutOfMemoryError",
		"-XX:HeapDumpPath=/ExitOnOutOfMemoryError":                         "",
	} {
		if got := onOutOfMemory(parseVMFlags(options)); got != want {
			t.Errorf("of %q it found %q, want %q", options, got, want)
		}
	}
}

// Answers of versions and collectors, and what is none.
func TestParseMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		flags, info, code string
		want              Memory
	}{
		"nothing": {},
		"Serial": {
			flags: "-XX:CompressedClassSpaceSize=16777216 -XX:MaxHeapSize=67108864 -XX:MaxMetaspaceSize=33554432 -XX:+UseSerialGC \n",
			info: " def new generation   total 19648K, used 1056K [0x1, 0x2, 0x3)\n  eden space 17472K,   6% used [0x1, 0x2, 0x3)\n tenured generation   total 43712K, used 10K [0x1, 0x2, 0x3)\n" +
				"   the space 43712K,   0% used [0x1, 0x2)\n Metaspace       used 2879K, capacity 4486K, committed 4864K, reserved 1056768K\n  class space    used 299K, capacity 386K, committed 512K, reserved 1048576K\n",
			want: Memory{Heap: Space{64 << 20, 1066 << 10}, Metaspace: Space{32 << 20, 4864 << 10}, ClassSpace: Space{16 << 20, 512 << 10}},
		},
		"the class space is not set": {
			flags: "-XX:MaxHeapSize=67108864", info: " Metaspace       used 212K, committed 448K, reserved 1114112K\n  class space    used 11K, committed 128K, reserved 1048576K\n",
			want: Memory{Heap: Space{64 << 20, 0}, Metaspace: Space{0, 448 << 10}, ClassSpace: Space{1 << 30, 128 << 10}},
		},
		"ZGC": {flags: "-XX:MaxHeapSize=67108864", info: "ZHeap            used 2M, capacity 64M, max capacity 64M\n Cache           62M (1)\n", want: Memory{Heap: Space{64 << 20, 2 << 20}}},
		"Shenandoah": {
			flags: "-XX:MaxHeapSize=67108864", info: "Shenandoah Heap\n 65536K max, 65536K soft max, 65536K committed, 1280K used\n 256 x 256K regions\n",
			want: Memory{Heap: Space{64 << 20, 1280 << 10}},
		},
		"code heaps": {
			code: "CodeHeap 'non-profiled nmethods': size=120036Kb used=2Kb max_used=2Kb free=120033Kb\n bounds [0x1]\nCodeHeap 'profiled nmethods': size=120032Kb used=10Kb max_used=10Kb free=1Kb\n",
			want: Memory{CodeCache: Space{240068 << 10, 12 << 10}},
		},
		"code heaps and their sum": {
			code: "CodeHeap 'non-nmethods': size=5692Kb used=1198Kb max_used=1198Kb free=4493Kb\nCodeCache: size=245764Kb, used=1278Kb, max_used=1278Kb, free=244484Kb\n",
			want: Memory{CodeCache: Space{245764 << 10, 1278 << 10}},
		},
		"numbers that are none": {
			flags: "-XX:MaxHeapSize=99999999999999999999 -XX:MaxMetaspaceSize=x", info: " a total 1K, used 99999999999999999999K\n Metaspace used\n", code: "CodeCache: size=99999999999Kb, used=1Kb\n",
			want: Memory{CodeCache: Space{0, 1 << 10}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, parseMemory(tc.flags, tc.info, tc.code)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that ends the JVM when a resource is exhausted is an option of this kind, too.
func TestAgentEndsAtOutOfMemory(t *testing.T) {
	for option, want := range map[string]string{
		"-agentpath:/opt/jvmkill-1.17.so=printHeapHistogram=1": "the agent jvmkill",
		"-agentlib:jdwp=transport=dt_socket":                   "",
	} {
		if got := parseFlags([]string{option}).OnOutOfMemory; got != want {
			t.Errorf("of %q it found %q, want %q", option, got, want)
		}
	}
}
