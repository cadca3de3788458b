package steps

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A Windows pod is refused before any exec, when attaching and when
// detaching.
func TestWindows(t *testing.T) {
	linux, windows := &corev1.PodOS{Name: corev1.Linux}, &corev1.PodOS{Name: corev1.Windows}
	for name, tc := range map[string]struct {
		os       *corev1.PodOS
		selector map[string]string
		refused  bool
	}{
		"nothing is specified":                            {},
		"spec.os is Linux":                                {os: linux},
		"the node selector is Linux":                      {selector: map[string]string{corev1.LabelOSStable: "linux"}},
		"spec.os is Windows":                              {os: windows, refused: true},
		"the node selector is Windows":                    {selector: map[string]string{corev1.LabelOSStable: "windows"}, refused: true},
		"spec.os and the node selector are Windows":       {os: windows, selector: map[string]string{corev1.LabelOSStable: "windows"}, refused: true},
		"spec.os takes precedence over the node selector": {os: linux, selector: map[string]string{corev1.LabelOSStable: "windows"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.Pod.Spec.OS, s.Pod.Spec.NodeSelector = tc.os, tc.selector
			helper := &answering{}
			s.Helper = helper
			got := FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
			if (got.Reason == v1alpha1.ReasonUnsupportedOS) != tc.refused {
				t.Errorf("reason: got %q, want UnsupportedOS: %t", got.Reason, tc.refused)
			}
			if err := s.FindAgents(t.Context(), s.Situation); (err == nil) != tc.refused {
				t.Errorf("FindAgents: got error %v, want an error: %t", err, tc.refused)
			}
			if asked := len(helper.ran) > 0; asked == tc.refused {
				t.Errorf("helper operations: got %q", helper.ran)
			}
		})
	}
}
