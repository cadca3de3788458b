package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The policies accept the helper that go.mod's toolchain builds: an image with a helper
// from another compiler would be refused everywhere.
func TestDockerfileBuildsWithTheToolchain(t *testing.T) {
	toolchain := version(t, "../../go.mod", `(?m)^toolchain go(\S+)$`)
	if builds := version(t, "../../Dockerfile", `(?m)^ENV GOTOOLCHAIN=go(\S+)$`); builds != toolchain {
		t.Errorf("go.mod's toolchain is go%s, and the Dockerfile builds with go%s", toolchain, builds)
	}
}

func version(t *testing.T, file, pattern string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(content)
	if found == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return string(found[1])
}

// Both ways to build the image use the same flags for the operator.
func TestDockerfileBuildsAsMake(t *testing.T) {
	// make and the shell differ in quotes and line ends.
	words := strings.NewReplacer(`"`, "", "\\\n", " ", "$(VERSION)", "$VERSION", "ldflags ", "ldflags=")
	flags := func(file string) string {
		return strings.Join(strings.Fields(words.Replace(version(t, file, `(?s)go build (-[^&;]*?) -o \S+ \./cmd/manager`))), " ")
	}
	if byMake, byDocker := flags("../../Makefile"), flags("../../Dockerfile"); byMake != byDocker {
		t.Errorf("make builds with %s, the Dockerfile with %s", byMake, byDocker)
	}
}
