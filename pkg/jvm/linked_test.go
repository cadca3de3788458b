//go:build linux

package jvm

import (
	"os"
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// jlink --add-options writes options into the runtime, where HotSpot reads them first.
func TestLinkedOptions(t *testing.T) {
	jvmtest.EachOf(t, jvmtest.WithTools, func(t *testing.T, jdk jvmtest.JDK) {
		jdk = jdk.Link(t, "java.base,java.instrument,java.management", "--add-options=-XX:+DisableAttachMechanism")
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
		// Unreadable options may be any. The file that the JVM has open counts,
		// regardless of the file that now has its name.
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
