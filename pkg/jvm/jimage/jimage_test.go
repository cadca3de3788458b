package jimage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jimage"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A truncated file or unknown format is an error, not a file without options.
func TestVMOptions(t *testing.T) {
	modules, err := os.ReadFile(filepath.Join(jvmtest.Need(t, 17).Link(t, "java.base", "--compress=2", "--add-options=-Xrs -Dx=y").Home, "lib/modules"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func([]byte) []byte) []byte { return f(slices.Clone(modules)) }
	for name, test := range map[string]struct {
		file  []byte
		want  string
		fails bool
	}{
		"whole":           {file: modules, want: "-Xrs -Dx=y"},
		"next minor":      {file: change(func(m []byte) []byte { m[4]++; return m }), want: "-Xrs -Dx=y"},
		"next major":      {file: change(func(m []byte) []byte { m[6]++; return m }), fails: true},
		"another file":    {file: change(func(m []byte) []byte { m[0]++; return m }), fails: true},
		"no table":        {file: change(func(m []byte) []byte { copy(m[16:20], "\x00\x00\x00\x00"); return m }), fails: true},
		"another table":   {file: change(func(m []byte) []byte { m[16]++; return m }), fails: true},
		"cut header":      {file: modules[:16], fails: true},
		"cut table":       {file: modules[:64], fails: true},
		"without content": {file: modules[:len(modules)/200], fails: true},
		"empty":           {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := jimage.VMOptions(bytes.NewReader(test.file))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
