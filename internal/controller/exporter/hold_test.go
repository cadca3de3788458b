package exporter

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A field that somebody has set, or a part of what somebody has set as a whole, would be lost by a
// write.
func TestSetAmong(t *testing.T) {
	managed := func(sets ...string) []metav1.ManagedFieldsEntry {
		var entries []metav1.ManagedFieldsEntry
		for _, set := range sets {
			entries = append(entries, metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(set)})
		}
		return append(entries, metav1.ManagedFieldsEntry{Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:port":{}}}`)})
	}
	set := managed(`{"f:metadata":{"f:labels":{}}}`, `{"f:spec":{".":{},"f:selector":{".":{},"f:matchLabels":{"f:app":{}}},"f:processes":{},"f:mode":{},"f:rollout":{".":{},"f:canary":{}}}}`)
	for name, tc := range map[string]struct {
		managed []metav1.ManagedFieldsEntry
		drops   []string
		want    string
	}{
		"nothing is dropped":          {set, nil, ""},
		"only of the status":          {set, []string{"status.pods", "status.conditions[].type"}, ""},
		"not set":                     {set, []string{"spec.port", "spec.rollout.pace"}, ""},
		"set":                         {set, []string{"spec.port", "spec.selector"}, "spec.selector"},
		"a part is set":               {set, []string{"spec.selector.matchLabels"}, "spec.selector.matchLabels"},
		"another part is set":         {set, []string{"spec.selector.matchExpressions"}, ""},
		"within a list that is set":   {set, []string{"spec.processes[].pattern"}, "spec.processes[].pattern"},
		"within an object that is":    {set, []string{"spec.rollout.canary.count"}, "spec.rollout.canary.count"},
		"a value of what is set":      {set, []string{`spec.mode="Preflight"`}, `spec.mode="Preflight"`},
		"the whole spec":              {set, []string{"spec"}, "spec"},
		"nobody knows who set what":   {[]metav1.ManagedFieldsEntry{{}}, []string{"spec.port"}, "spec.port"},
		"nobody is named at all":      {nil, []string{"spec.port"}, "spec.port"},
		"nobody, but nothing dropped": {nil, []string{"status.pods"}, ""},
	} {
		if got := setAmong(tc.managed, tc.drops); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
