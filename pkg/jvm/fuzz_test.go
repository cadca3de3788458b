//go:build linux

package jvm

import (
	"errors"
	"path"
	"strings"
	"testing"
)

func FuzzParseMaps(f *testing.F) {
	f.Add("7f0000000000-7f0000001000 r-xp 00010000 08:01 2   /opt/my jdk/lib/server/libjvm.so (deleted)\n")
	f.Add("7f0000000000-7f0000001000 r-xp 0 08:01 2 /opt/libjvm.so\n7f0000000000-7f0000001000 r-xp 0 08:01 2 /opt/libj9vm29.so\n")
	f.Add("libjvm.so x x x x libjvm.so\n[anon:libjvm.so] r-xp 0 0 0 [anon:/libjvm.so]\n")
	f.Fuzz(func(t *testing.T, maps string) {
		implementation, library, err := parseMaps(strings.NewReader(maps), int64(len(maps)+1))
		switch base := path.Base(library); {
		case err != nil && implementation != "", (implementation == "") != (library == ""):
			t.Errorf("%q, %q, %v", implementation, library, err)
		case implementation == HotSpot && base != "libjvm.so", implementation == OpenJ9 && !strings.HasPrefix(base, "libj9vm"):
			t.Errorf("%s is %q", implementation, library)
		}
	})
}

func FuzzParseCommandLine(f *testing.F) {
	f.Add("java\x00-Xrs\x00-jar\x00app.jar\x00", "JAVA_TOOL_OPTIONS=-XX:Flags=f -XX:VMOptionsFile=f\x00", "-XX:+DisableAttachMechanism # c\n\"a\\\nb\"", 17)
	f.Add("java\x00@f\x00@@x\x00--disable-@files\x00-m\x00", "JDK_JAVA_OPTIONS=@f 'x\x00_JAVA_OPTIONS=-agentlib:jdwp=x\x00", "@f @f", 8)
	f.Add("\x00\x00\xff", "=\x00", "\x1b\"", 0)
	f.Fuzz(func(t *testing.T, cmdline, environ, file string, major int) {
		files := 0
		parseCommandLine(java, splitNul([]byte(cmdline)), splitNul([]byte(environ)), file, major, func(string) (string, error) {
			if files++; files%7 == 0 {
				return "", errors.New("gone")
			}
			return file, nil
		})
		if files > maxFiles {
			t.Errorf("%d files were read", files)
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) Z 1\nb) S 1 7 7 0 -1 4194304 1 0 0 0 11 12 0 0 20 0 1 0 1234 1 1\n"))
	f.Add([]byte("7 (java) S 1 7 7 0 -1 4194304 1 0 0 0 18446744073709551615 18446744073709551615 0 0 20 0 1 0 18446744073709551615"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseStat(data) })
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Name:\ta\\nUid:\t0 0 0 0\nPid:\t7\nUid:\t1 2 3 4\nGid:\t1 2 3 4\nGroups:\t5 6 \nNSpid:\t70\t7\nSigCgt:\t0000000181005ccf\n"))
	f.Add([]byte("Uid:\t-1 -1 -1 -1\nGid:\t99999999999999999999 1 1 1\nNSpid:\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseStatus(data); err == nil && (s.uid < 0 || s.gid < 0 || len(s.nspids) == 0) {
			t.Errorf("%+v", s)
		}
	})
}

// /proc/<pid>/net/tcp and tcp6, and net/unix.
func FuzzParseNet(f *testing.F) {
	f.Add([]byte("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n"))
	f.Add([]byte("   0: 00000000000000000000000001000000:24BC 00000000000000000000000000000000:0000 0A 0:0 0:0 0  1000        0 4 1 0\n"))
	f.Add([]byte("0000000000000000: 00000002 00000000 00010000 0001 01 100 /tmp/.java_pid7.tmp\n: : : : : : : :\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, port := range portsOf(parseListening(data)) {
			if port < 0 || port > 65535 {
				t.Errorf("port %d", port)
			}
		}
		for _, inode := range parseUnix(data, "/tmp/.java_pid7") {
			if inode == "" {
				t.Error("a socket without an inode")
			}
		}
	})
}

func FuzzControlGroups(f *testing.F) {
	f.Add("0::/kubepods.slice/cri-containerd-abc.scope\n", "0::/kubepods.slice\n", "abc")
	f.Add("12:pids:/kubepods/pod1/c1\n0::/../c2\n", "0::/\n", "c1")
	f.Fuzz(func(t *testing.T, process, container, id string) {
		withinGroups(process, container)
		if Container(id).named(process) && !strings.Contains(process, id) {
			t.Errorf("%q is in %q", id, process)
		}
	})
}

func FuzzParseRelease(f *testing.F) {
	f.Add("IMPLEMENTOR=\"Eclipse Adoptium\"\nJAVA_VERSION=\"17.0.1\"\n")
	f.Add("JAVA_VERSION=\"1.8.0_342\"\r\n=\n\"")
	f.Add("JAVA_VERSION=99999999999999999999.0.1\x1b")
	f.Fuzz(func(_ *testing.T, text string) {
		_, version := parseRelease(text)
		restartsListener(version)
	})
}

func FuzzProperties(f *testing.F) {
	f.Add("a=b\\\n c\\u00e9\n", "a")
	f.Add("#c\n!c\r\nkey\\ with\\=all\\:of\\ it=\\ \\\\\ncut=\\u12", "cut")
	f.Fuzz(func(t *testing.T, text, name string) {
		want, there := "", false
		for key, value := range properties(text) {
			if key == name {
				want, there = value, true
			}
		}
		if got, found := findProperty(text, name); got != want || found != there {
			t.Errorf("%q, %v; want %q, %v", got, found, want, there)
		}
	})
}

// A reply on the attach socket, from the JVM or an impostor.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{"0\n0", "0\nreturn code: 100\n", "0\nDynamic agent loading is not enabled", "101\nModule java.instrument not found", "\x1b[31m\n\xff", "-1\n" + strings.Repeat("x ", 400), "101\nModule " + strings.Repeat("x", 6000) + " not found"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		code, text, err := decodeReply(reply)
		if err != nil {
			return
		}
		if failed := decodeLoad(code, text); failed != nil && (failed.Kind == "" || len(failed.Message) > 5000) {
			t.Errorf("%s: a sentence of %d bytes", failed.Kind, len(failed.Message))
		}
	})
}

// A JVM's user can write anything into the file of performance counters.
func FuzzCounterFile(f *testing.F) {
	f.Add(counterFile(
		counter{name: "sun.gc.collector.0.invocations", number: 1}, counter{name: "sun.gc.generation.0.space.0.used", number: 7},
		counter{name: "sun.gc.generation.0.maxCapacity", number: 9}, counter{name: "sun.gc.collector.0.name", text: "Copy"},
	))
	f.Add([]byte("\xca\xfe\xc0\xc0\x01\x02\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCounterFile(data)
		if err != nil && len(c.numbers) > 0 {
			t.Error("there are counters beside an error")
		}
		c.maxHeap()
		if used, _ := c.liveHeap(); used < 0 {
			t.Errorf("%d bytes are used", used)
		}
	})
}
