package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// write replaces the folder with the texts and an index of them.
func write(out string, found map[string]*text) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	var index strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t := found[name]
		kind := strings.Join(t.licenses, " AND ")
		if kind == "" {
			kind = "notice"
		}
		fmt.Fprintf(&index, "%s: %s\n", name, kind)
		if err := put(filepath.Join(out, name), t.content); err != nil {
			return err
		}
	}
	return put(filepath.Join(out, "index.txt"), []byte(index.String()))
}

func put(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}
