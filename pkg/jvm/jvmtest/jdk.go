//go:build linux

package jvmtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// JDK is an installed Java runtime.
type JDK struct {
	Home  string
	Major int
	// Build is the full version that the runtime reports.
	Build string
}

// Majors are the versions under test. WithTools are those that must be full JDKs, with
// which the project is built; hack/jvms provides the others.
var (
	Majors    = []int{8, 11, 17, 21, 25, 26, 27, 28}
	WithTools = []int{17, 25}
)

// Since returns the Majors from the given one on.
func Since(major int) []int { return Majors[slices.Index(Majors, major):] }

// String returns the name in test output.
func (j JDK) String() string { return "jdk" + strconv.Itoa(j.Major) }

// found are the runtimes in /usr/lib/jvm and in JMX_TEST_JVMS, a colon-separated list of
// java.home directories; the first one of each major version wins.
var found = sync.OnceValue(func() map[int]JDK {
	homes, _ := filepath.Glob("/usr/lib/jvm/*")
	homes = append(homes, filepath.SplitList(os.Getenv("JMX_TEST_JVMS"))...)
	version := regexp.MustCompile(`(?m)(?:^JAVA_VERSION=|version )"(?:1\.)?(\d+)`)
	build := regexp.MustCompile(`JAVA_RUNTIME_VERSION="(.+)"|Runtime Environment.* \(build (.+)\)`)
	jdks := map[int]JDK{}
	for _, home := range homes {
		said, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil { // Debian's Java 8 has no release file
			said, err = exec.Command(filepath.Join(home, "bin/java"), "-version").CombinedOutput()
		}
		if m := version.FindSubmatch(said); err == nil && m != nil {
			major, _ := strconv.Atoi(string(m[1]))
			if _, known := jdks[major]; !known {
				jdks[major] = JDK{Home: home, Major: major, Build: string(slices.Concat(build.FindSubmatch(said)[1:]...))}
			}
		}
	}
	return jdks
})

// Need returns the runtime of a major version. If it is missing, the test is skipped, or
// fails where CI is set, so that nothing is skipped silently there.
func Need(t *testing.T, major int) JDK {
	t.Helper()
	jdk, ok := found()[major]
	if !ok {
		missing(t, "a JDK "+strconv.Itoa(major), "run the tests by hack/jvms run, install it into /usr/lib/jvm, or name its home in JMX_TEST_JVMS")
	}
	return jdk
}

// Link creates a runtime with only the named modules and their dependencies, using
// further options of jlink.
func (j JDK) Link(t *testing.T, modules string, options ...string) JDK {
	t.Helper()
	const linksItself = 24 // JEP 493: jlink may work without jmods
	if _, err := os.Stat(filepath.Join(j.Home, "jmods")); err != nil && j.Major < linksItself {
		missing(t, "jmods in "+j.Home, "install the JDK's jmods")
	}
	jlink := filepath.Join(j.Home, "bin/jlink")
	if _, err := os.Stat(jlink); err != nil {
		missing(t, jlink, "install the JDK, not only its runtime")
	}
	home := filepath.Join(t.TempDir(), "runtime")
	release, err := os.ReadFile(filepath.Join(j.Home, "release")) // a JDK is updated in its place
	if err != nil {
		t.Fatal(err)
	}
	linked, err := cached(fmt.Append(release, j, modules, options), func(dir string) *exec.Cmd {
		return exec.Command(jlink, append(options, "--add-modules", modules, "--output", filepath.Join(dir, "runtime"))...)
	}, nil)
	if err != nil {
		t.Fatalf("jlink: %v", err)
	}
	if err := os.CopyFS(home, os.DirFS(filepath.Join(linked, "runtime"))); err != nil { // tests may change it
		t.Fatal(err)
	}
	return JDK{Home: home, Major: j.Major}
}

// launcher creates a copy of java under another name, in a runtime made of symbolic
// links.
func (j JDK) launcher(t *testing.T, name string, mode fs.FileMode) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Chmod(filepath.Dir(home), 0o755); err != nil { // so that other users can start it
		t.Fatal(err)
	}
	entries, err := os.ReadDir(j.Home)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "bin" {
			continue
		}
		if err := os.Symlink(filepath.Join(j.Home, entry.Name()), filepath.Join(home, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	java, err := os.ReadFile(filepath.Join(j.Home, "bin/java"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	launcher := filepath.Join(home, "bin", name)
	if err := os.WriteFile(launcher, java, mode); err != nil {
		t.Fatal(err)
	}
	return launcher
}

func missing(t *testing.T, what, remedy string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: %s", what, remedy)
	}
	t.Skipf("%s is missing: %s", what, remedy)
}

// EachJDK runs a test with each of Majors.
func EachJDK(t *testing.T, test func(*testing.T, JDK)) {
	t.Helper()
	EachOf(t, Majors, test)
}

// EachOf runs a test with the given major versions. The build is recorded as an attribute
// of the subtest, for the table in docs/compatibility.md.
func EachOf(t *testing.T, majors []int, test func(*testing.T, JDK)) {
	t.Helper()
	for _, major := range majors {
		t.Run("jdk"+strconv.Itoa(major), func(t *testing.T) {
			jdk := Need(t, major)
			t.Attr("java", jdk.Build)
			test(t, jdk)
		})
	}
}

// EachEnd runs a test whose rule does not depend on the version: with the oldest and the
// newest of Majors, and with all of them where FULL is set.
func EachEnd(t *testing.T, test func(*testing.T, JDK)) {
	t.Helper()
	majors := []int{Majors[0], Majors[len(Majors)-1]}
	if full() {
		majors = Majors
	}
	EachOf(t, majors, test)
}

// Rounds returns how often to repeat what goes wrong by chance, if it does: n times where
// FULL is set, and otherwise a fifth of that.
func Rounds(n int) int {
	if full() {
		return n
	}
	return n / 5
}

func full() bool { return os.Getenv("FULL") != "" }
