package record

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func TestAgentLoadingOf(t *testing.T) {
	for name, tc := range map[string]struct {
		found helperapi.Process
		want  v1alpha1.AgentLoading
	}{
		"Java 8":                    {helperapi.Process{Version: "1.8.0_504"}, v1alpha1.AgentLoadingWarnsAfterUpgrade},
		"Java 17":                   {helperapi.Process{Version: "17.0.15"}, v1alpha1.AgentLoadingWarnsAfterUpgrade},
		"Java 17 with the option":   {helperapi.Process{Version: "17.0.15", LoadAllowed: true}, v1alpha1.AgentLoadingAllowed},
		"Java 17 that denies":       {helperapi.Process{Version: "17.0.15", LoadDenied: true}, v1alpha1.AgentLoadingDenied},
		"Java 25":                   {helperapi.Process{Version: "25.0.3", LoadWarns: true}, v1alpha1.AgentLoadingWarns},
		"Java 25 that denies":       {helperapi.Process{Version: "25", LoadWarns: true, LoadDenied: true}, v1alpha1.AgentLoadingDenied},
		"Java 28":                   {helperapi.Process{Version: "28-ea", LoadAllowed: true}, v1alpha1.AgentLoadingAllowed},
		"Java 25, an older helper":  {helperapi.Process{Version: "25.0.3"}, ""},
		"no version":                {helperapi.Process{}, ""},
		"no version, but an option": {helperapi.Process{LoadAllowed: true}, v1alpha1.AgentLoadingAllowed},
	} {
		if got := AgentLoadingOf(tc.found); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// The most severe kind counts, of JVMs into which an agent is loaded.
func TestAgentLoading(t *testing.T) {
	of := func(kinds ...v1alpha1.AgentLoading) (all []v1alpha1.JavaProcess) {
		for _, kind := range kinds {
			all = append(all, v1alpha1.JavaProcess{AgentLoading: kind})
		}
		return all
	}
	excluded, adopted := of(v1alpha1.AgentLoadingDenied), of(v1alpha1.AgentLoadingDenied)
	excluded[0].Excluded, adopted[0].Adopted = true, true
	for name, tc := range map[string]struct {
		processes []v1alpha1.JavaProcess
		want      v1alpha1.AgentLoading
	}{
		"none":       {nil, ""},
		"not known":  {of(""), ""},
		"one warns":  {of(v1alpha1.AgentLoadingAllowed, v1alpha1.AgentLoadingWarns, v1alpha1.AgentLoadingWarnsAfterUpgrade), v1alpha1.AgentLoadingWarns},
		"one denies": {of(v1alpha1.AgentLoadingWarns, v1alpha1.AgentLoadingDenied), v1alpha1.AgentLoadingDenied},
		"all allow":  {of(v1alpha1.AgentLoadingAllowed, ""), v1alpha1.AgentLoadingAllowed},
		"excluded":   {append(of(v1alpha1.AgentLoadingAllowed), excluded...), v1alpha1.AgentLoadingAllowed},
		"adopted":    {append(of(v1alpha1.AgentLoadingWarnsAfterUpgrade), adopted...), v1alpha1.AgentLoadingWarnsAfterUpgrade},
	} {
		if got := AgentLoading(tc.processes); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// What is not a value of the API is not written to it.
func TestJavaOptionsOf(t *testing.T) {
	for reported, want := range map[string]v1alpha1.JavaOptions{"Absent": "Absent", "Set": "Set", "Ignored": "Ignored", "": "", "-Xmx1g": ""} {
		if got := JavaOptionsOf(helperapi.Process{JavaOptions: reported}); got != want {
			t.Errorf("%q: got %q, want %q", reported, got, want)
		}
	}
}
