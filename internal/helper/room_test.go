//go:build linux

package helper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// A load takes heap. A JVM that exits at an OutOfMemoryError, or does something else that
// is seen, is refused where little is left; others get an agent that bounds itself.
func TestLittleHeap(t *testing.T) {
	for name, tc := range map[string]struct {
		args   []string
		says   []string
		reason helperapi.Reason
	}{
		"exits":        {args: []string{"-XX:+ExitOnOutOfMemoryError"}, reason: helperapi.ReasonInsufficientHeap, says: []string{"-XX:+ExitOnOutOfMemoryError", "26 MiB must be free", "of 256 MiB"}},
		"dumps":        {args: []string{"-XX:+HeapDumpOnOutOfMemoryError"}, reason: helperapi.ReasonInsufficientHeap, says: []string{"-XX:+HeapDumpOnOutOfMemoryError"}},
		"runs":         {args: []string{"-XX:OnOutOfMemoryError=kill -9 %p"}, reason: helperapi.ReasonInsufficientHeap, says: []string{"-XX:OnOutOfMemoryError,"}},
		"not known":    {args: []string{"-XX:+CrashOnOutOfMemoryError", "-XX:-UsePerfData"}, reason: helperapi.ReasonInsufficientHeap, says: []string{"How much of it is garbage is not known: the JVM has no file of performance counters"}},
		"only throws":  {reason: helperapi.ReasonCollectionTooLarge, says: []string{"Collect less"}},
		"the last one": {reason: helperapi.ReasonCollectionTooLarge, args: []string{"-XX:+ExitOnOutOfMemoryError", "-XX:-ExitOnOutOfMemoryError"}},
	} {
		t.Run(name, func(t *testing.T) {
			jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
				cleanDirectory(t)
				app := jdk.Start(t, jvmtest.Options{Args: append([]string{"-Xmx256m", "-XX:+UseG1GC", "-XX:+EnableDynamicAgentLoading", fmt.Sprintf("-Djvmtest.leave=%d", 10*mib)}, tc.args...), Dir: t.TempDir()})
				app.Tell("fill")
				req := staged(t, app)
				report := do(t, helperapi.VerbLoad, req)
				for range 5 {
					scrape(req.Desired.Port)
				}
				app.Unharmed()
				wantReason(t, report, tc.reason)
				for _, words := range tc.says {
					if !strings.Contains(report.Error.Message, words) {
						t.Errorf("the sentence lacks %q: %s", words, report.Error.Message)
					}
				}
			})
		})
	}
}

// A refusal that counts garbage says why it does.
func TestRefusalWithGarbage(t *testing.T) {
	for _, cause := range []error{jvm.ErrNoCounters, jvm.ErrNotCollected, errors.New("permission denied")} {
		err := checkHeap("-XX:+ExitOnOutOfMemoryError", jvm.Space{Limit: 64 * mib, Used: 60 * mib}, cause)
		if err == nil || !strings.Contains(err.Error(), "of 64 MiB are. How much of it is garbage is not known: "+cause.Error()+". Raise -Xmx") {
			t.Errorf("the sentence is: %v", err)
		}
	}
	err := checkHeap("-XX:+ExitOnOutOfMemoryError", jvm.Space{Limit: 64 * mib, Used: 60 * mib}, nil)
	if err == nil || strings.Contains(err.Error(), "garbage is not known") {
		t.Errorf("the sentence is: %v", err)
	}
}

// An agent that serves nothing for want of heap does so once there is some.
func TestCollectionTooLarge(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xmx128m", "-XX:+UseG1GC", fmt.Sprintf("-Djvmtest.leave=%d", 10*mib)}})
	app.Tell("fill")
	req := staged(t, app)
	wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonCollectionTooLarge)
	if scrape(req.Desired.Port) != "" {
		t.Error("it serves metrics")
	}
	wantReason(t, do(t, helperapi.VerbLoad, req), helperapi.ReasonCollectionTooLarge)
	app.Tell("empty")
	report := do(t, helperapi.VerbLoad, req)
	wantReason(t, report, "")
	wantMark(t, report, helperapi.AgentRunning, 1)
	if !strings.Contains(scrape(req.Desired.Port), "jvm_") {
		t.Error("it serves no metrics")
	}
	app.Unharmed()
}

// A heap that is known to be full is not even attached to: a load would end this JVM.
func TestLittleHeapIsNotSignaled(t *testing.T) {
	cleanDirectory(t)
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{Args: []string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", fmt.Sprintf("-Djvmtest.leave=%d", 2*mib)}})
	app.Tell("fill")
	req := staged(t, app)
	set(t, &attach, func(jvm.Process, context.Context, ...func() error) error {
		t.Error("it is attached to")
		return nil
	})
	report := do(t, helperapi.VerbLoad, req)
	app.Unharmed()
	wantReason(t, report, helperapi.ReasonInsufficientHeap)
}

// The agent's classes and their code leave the application what it needs for its own.
func TestLittleMetaspace(t *testing.T) {
	for _, tc := range []struct {
		name, option, roomy string
		jdks                []int
	}{
		{"metaspace", "-XX:MaxMetaspaceSize=9m", "-XX:MaxMetaspaceSize=32m", []int{8, 17, 25, 28}},
		{"compressed class space", "-XX:CompressedClassSpaceSize=1m", "-XX:CompressedClassSpaceSize=8m", []int{8}}, // later at least 16 MiB
		{"code cache", "-XX:ReservedCodeCacheSize=8m", "-XX:ReservedCodeCacheSize=32m", []int{17, 28}},             // Java 8 does not say how full it is
	} {
		t.Run(tc.name, func(t *testing.T) {
			jvmtest.EachOf(t, tc.jdks, func(t *testing.T, jdk jvmtest.JDK) {
				for _, option := range []string{tc.option, tc.roomy} {
					cleanDirectory(t)
					app := jdk.Start(t, jvmtest.Options{Args: []string{"-Xmx64m", "-XX:+EnableDynamicAgentLoading", option}})
					req := staged(t, app)
					report := do(t, helperapi.VerbLoad, req)
					for range 20 {
						scrape(req.Desired.Port)
						app.Tell("class")
					}
					app.Unharmed()
					if option == tc.roomy {
						wantReason(t, report, "")
						continue
					}
					wantReason(t, report, helperapi.ReasonInsufficientMetaspace)
					if name, _, _ := strings.Cut(option, "="); !strings.Contains(report.Error.Message, tc.name) || !strings.Contains(report.Error.Message, name) {
						t.Errorf("the sentence is: %s", report.Error.Message)
					}
					for _, name := range names(t) {
						if strings.HasSuffix(name, directory.DesiredSuffix) {
							t.Errorf("%s was written", name)
						}
					}
				}
			})
		})
	}
}
