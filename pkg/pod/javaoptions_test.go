package pod

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// How each container gets JDK_JAVA_OPTIONS, which is the same of what a cache keeps of it; and a
// cache keeps no value.
func TestJavaOptionsOf(t *testing.T) {
	const name = "JDK_JAVA_OPTIONS"
	value := func(value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }
	from := []corev1.EnvFromSource{{Prefix: "SECRET"}}
	for what, tc := range map[string]struct {
		container corev1.Container
		want      JavaOptions
	}{
		"nothing":             {corev1.Container{}, JavaOptionsUnset},
		"another variable":    {corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "SECRET"}}}, JavaOptionsUnset},
		"an empty value":      {corev1.Container{Env: []corev1.EnvVar{value("")}}, JavaOptionsValue},
		"a value":             {corev1.Container{Env: []corev1.EnvVar{value("-Da=SECRET")}}, JavaOptionsValue},
		"a value and envFrom": {corev1.Container{Env: []corev1.EnvVar{value("-Da=SECRET")}, EnvFrom: from}, JavaOptionsValue},
		"envFrom":             {corev1.Container{EnvFrom: from}, JavaOptionsMayBeReference},
		"a reference": {corev1.Container{Env: []corev1.EnvVar{{Name: name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{Key: "SECRET"},
		}}}}, JavaOptionsReference},
		"two values":              {corev1.Container{Env: []corev1.EnvVar{value("-Da=SECRET"), value("-Db")}}, JavaOptionsUsed},
		"used by another":         {corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "SECRET $(" + name + ")"}}}, JavaOptionsUsed},
		"used by the command":     {corev1.Container{Command: []string{"sh", "-c", "java $" + name}}, JavaOptionsUsed},
		"used by an argument":     {corev1.Container{Args: []string{"SECRET", "$(" + name + ")"}}, JavaOptionsUsed},
		"the flag":                {corev1.Container{Env: []corev1.EnvVar{value("SECRET -XX:+EnableDynamicAgentLoading")}}, JavaOptionsDecided},
		"the flag elsewhere":      {corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "-XX:-EnableDynamicAgentLoading"}}}, JavaOptionsDecided},
		"the flag as an argument": {corev1.Container{Args: []string{"-XX:-EnableDynamicAgentLoading"}}, JavaOptionsDecided},
		"the longest":             {corev1.Container{Env: []corev1.EnvVar{value(strings.Repeat("x", LongestJavaOptions))}}, JavaOptionsValue},
		"too long":                {corev1.Container{Env: []corev1.EnvVar{value(strings.Repeat("x", LongestJavaOptions+1))}}, JavaOptionsTooLong},
	} {
		if got := JavaOptionsOf(&tc.container); got != tc.want {
			t.Errorf("%s: got %d, want %d", what, got, tc.want)
		}
		var trimmed corev1.Container
		trimmed.Env, trimmed.EnvFrom = TrimJavaOptions(&tc.container)
		if got := JavaOptionsOf(&trimmed); got != tc.want || strings.Contains(trimmed.String(), "SECRET") {
			t.Errorf("%s, trimmed: got %d of %v, want %d", what, got, trimmed, tc.want)
		}
	}
}

func TestImagePinned(t *testing.T) {
	for image, want := range map[string]bool{
		"": false, "app": false, "registry.example:5000/app": false, "app:latest": false, "registry.example:5000/app:latest": false,
		"app:1": true, "registry.example:5000/a/app:1": true, "app@sha256:00": true, "app:latest@sha256:00": true,
	} {
		if got := ImagePinned(image); got != want {
			t.Errorf("%q: got %t, want %t", image, got, want)
		}
	}
}
