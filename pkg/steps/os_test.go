package steps

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A pod that runs on Windows is refused before any exec, on the way forward and on
// the way back.
func TestWindows(t *testing.T) {
	linux, windows := &corev1.PodOS{Name: corev1.Linux}, &corev1.PodOS{Name: corev1.Windows}
	for name, tc := range map[string]struct {
		os       *corev1.PodOS
		selector map[string]string
		refused  bool
	}{
		"neither is said":           {},
		"Linux":                     {os: linux},
		"a node of Linux":           {selector: map[string]string{corev1.LabelOSStable: "linux"}},
		"Windows":                   {os: windows, refused: true},
		"a node of Windows":         {selector: map[string]string{corev1.LabelOSStable: "windows"}, refused: true},
		"Windows, on such a node":   {os: windows, selector: map[string]string{corev1.LabelOSStable: "windows"}, refused: true},
		"spec.os decides over both": {os: linux, selector: map[string]string{corev1.LabelOSStable: "windows"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope()
			s.runs("a")
			s.Pod.Spec.OS, s.Pod.Spec.NodeSelector = tc.os, tc.selector
			helper := &answering{}
			s.Helper = helper
			got := FindJava{}.Ensure(t.Context(), s)
			if (got.Reason == v1alpha1.ReasonUnsupportedOS) != tc.refused {
				t.Errorf("it comes to %q", got.Reason)
			}
			if err := s.FindAgents(t.Context()); (err == nil) != tc.refused {
				t.Errorf("the search for agents comes to %v", err)
			}
			if asked := len(helper.ran) > 0; asked == tc.refused {
				t.Errorf("run was %q", helper.ran)
			}
		})
	}
}
