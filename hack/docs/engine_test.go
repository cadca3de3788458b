package main

import (
	"regexp"
	"strings"
	"testing"
)

// The example of docs/engine.md is the one that the tests of the engine run.
func TestEngineExample(t *testing.T) {
	shown := regexp.MustCompile("(?s)\n```go\n(.*?)```\n").FindStringSubmatch(read(t, "docs/engine.md"))
	if shown == nil {
		t.Fatal("docs/engine.md has no example")
	}
	source := read(t, "pkg/statemachine/example_crashes_test.go")
	if _, run, found := strings.Cut(source, "\n)\n\n"); !found || run != shown[1] {
		t.Error("the example in docs/engine.md differs from pkg/statemachine/example_crashes_test.go: copy it from there, after the imports")
	}
}
