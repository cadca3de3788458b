//go:build linux

package jvm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// jlink --add-options writes options into the runtime, where HotSpot looks for
// them before it looks anywhere else.
func TestLinkedOptions(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		if jdk.Major < 14 {
			return // has no such option
		}
		jdk = jdk.Link(t, "java.base,java.instrument,java.management,jdk.httpserver", "--add-options=-XX:+DisableAttachMechanism")
		t.Run("disabled", func(t *testing.T) {
			app := jdk.Start(t, jvmtest.Options{})
			wantKind(t, found(t, app.PID).Attach(deadline(t)), AttachDisabled)
			app.Unharmed()
		})
		t.Run("overruled", func(t *testing.T) {
			app := jdk.Start(t, jvmtest.Options{Env: []string{"JAVA_TOOL_OPTIONS=-XX:-DisableAttachMechanism"}})
			if err := found(t, app.PID).Attach(deadline(t)); err != nil {
				t.Error(err)
			}
			app.Tell("ping")
		})
		// What cannot be read may say anything. The file that the JVM has open is
		// the one that counts, whatever becomes of its name.
		t.Run("unread", func(t *testing.T) {
			for dir := jdk.Home; dir != "/tmp"; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			app := jdk.Start(t, jvmtest.Options{User: nobody})
			modules := filepath.Join(jdk.Home, "lib/modules")
			for _, test := range []struct {
				change func() error
				want   Kind
			}{
				{func() error { return os.Chmod(modules, 0) }, OptionsUnknown},
				{func() error { return os.Chmod(modules, 0o644) }, AttachDisabled},
				{func() error { return os.Remove(modules) }, AttachDisabled},
			} {
				if err := test.change(); err != nil {
					t.Fatal(err)
				}
				wantKind(t, found(t, app.PID).Attach(deadline(t)), test.want)
			}
			app.Unharmed()
		})
	})
}

// A file that is not whole or not understood is an error, not one without options.
func TestReadVMOptions(t *testing.T) {
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
			got, err := readVMOptions(bytes.NewReader(test.file))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
