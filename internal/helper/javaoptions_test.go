//go:build linux

package helper

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// What the policy of config/next-start writes into JDK_JAVA_OPTIONS is accepted by the launcher of
// each Java, with each kind of value; a load into such a JVM writes no warning, unless the
// application's own value denies it; and Java 8 starts as ever.
func TestNextStartOptions(t *testing.T) {
	jvmtest.EachJDK(t, func(t *testing.T, jdk jvmtest.JDK) {
		for name, tc := range map[string]struct {
			before string
			denied bool
		}{
			"no value":        {},
			"a quoted one":    {before: ` -Djvmtest.a="b c" '-Djvmtest.d=e'`},
			"one that denies": {before: " -XX:-EnableDynamicAgentLoading", denied: true},
		} {
			t.Run(name, func(t *testing.T) {
				cleanDirectory(t)
				app := jdk.Start(t, jvmtest.Options{Env: []string{jvm.VariableJavaOptions + "=" + silentLoad.Args[0] + tc.before}})
				const since = 9
				read := jdk.Major >= since
				report := do(t, helperapi.VerbInspect, helperapi.Request{})
				if len(report.Processes) != 1 {
					t.Fatalf("inspect found %+v, want one JVM", report.Processes)
				}
				p := report.Processes[0]
				want := string(jvm.JavaOptionsIgnored)
				if read {
					want = string(jvm.JavaOptionsSet)
				}
				if p.JavaOptions != want || p.LoadAllowed != (read && !tc.denied) || p.LoadDenied != (read && tc.denied) {
					t.Errorf("inspect: got %q, allowed %t, denied %t", p.JavaOptions, p.LoadAllowed, p.LoadDenied)
				}
				if got := strings.Count(app.Output(), "NOTE: Picked up "+jvm.VariableJavaOptions); got != 1 && read || got != 0 && !read {
					t.Errorf("the launcher noted the variable %d times:\n%s", got, app.Output())
				}
				if tc.denied && read {
					return
				}
				wantReason(t, do(t, helperapi.VerbLoad, staged(t, app)), "")
				if strings.Contains(app.Output(), "WARNING") {
					t.Errorf("the load warned:\n%s", app.Output())
				}
				app.Unharmed()
			})
		}
	})
}

// A variable that the entrypoint may have removed before it started the JVM is still in the
// environment of the helper's own exec. In other containers, that is not the container's, and no
// process need have the container's any more; on a host, there is none.
func TestJavaOptionsOfTheContainer(t *testing.T) {
	inside := helperapi.Request{PodUID: "u"}
	outside := helperapi.Request{PodUID: "u", ContainerID: "c"}
	absent, set := jvm.Process{JavaOptions: jvm.JavaOptionsAbsent}, jvm.Process{JavaOptions: jvm.JavaOptionsSet}
	for name, tc := range map[string]struct {
		own  bool
		req  helperapi.Request
		p    jvm.Process
		want string
	}{
		"nowhere":                        {false, inside, absent, "Absent"},
		"in the container only":          {true, inside, absent, "Set"},
		"in the JVM only":                {false, inside, set, "Set"},
		"in another container only":      {true, outside, absent, ""},
		"nowhere that is seen outside":   {false, outside, absent, ""},
		"in the JVM, seen outside":       {false, outside, set, "Set"},
		"on the host only":               {true, helperapi.Request{}, absent, "Absent"},
		"not read, but in the container": {true, inside, jvm.Process{JavaOptions: jvm.JavaOptionsIgnored}, "Ignored"},
		"not known":                      {false, inside, jvm.Process{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.own {
				t.Setenv(jvm.VariableJavaOptions, "-Xmx1g")
			}
			if got := javaOptions(tc.req, tc.p); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
