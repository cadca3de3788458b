package exporter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// startingMember returns a pod with a JVM of Java 25, whose container has an image.
func startingMember(name, image string, options v1alpha1.JavaOptions, how ...func(*corev1.Container)) member {
	m := preflightMember(name, v1alpha1.PhaseJavaFound, v1alpha1.ReasonPreflight)
	m.pod.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	for _, change := range how {
		change(&m.pod.Spec.Containers[0])
	}
	m.process().JavaOptions, m.process().AgentLoading = options, v1alpha1.AgentLoadingWarns
	return m
}

func (m member) process() *v1alpha1.JavaProcess { return &m.attachment.Status.Processes[0] }

func startingFleet(members ...member) *fleet {
	f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{}, members: members}
	f.exporter.Spec.AtNextStart = v1alpha1.NextStartAllowAttach
	return f
}

// What the policy decides by is listed by image, and comes first: the limit cuts off the rest.
func TestNextStartSkippedOrder(t *testing.T) {
	var members []member
	denied := startingMember("d", "app:4", v1alpha1.JavaOptionsSet)
	denied.process().AgentLoading = v1alpha1.AgentLoadingDenied
	long := startingMember("e", strings.Repeat("i", maxNextStartImage)+":1", v1alpha1.JavaOptionsIgnored)
	envFrom := func(c *corev1.Container) { c.EnvFrom = []corev1.EnvFromSource{{}} }
	for i := range maxNextStartsSkipped {
		many := startingMember(fmt.Sprintf("a-%02d", i), "app:1", v1alpha1.JavaOptionsAbsent, envFrom)
		many.pod.Spec.Containers[0].Name = fmt.Sprintf("app-%02d", i)
		many.process().Container = many.pod.Spec.Containers[0].Name
		members = append(members, many)
	}
	members = append(members,
		startingMember("b", "app:1", v1alpha1.JavaOptionsAbsent, envFrom), startingMember("b-again", "app:2", v1alpha1.JavaOptionsAbsent, envFrom),
		startingMember("c", "app:2", v1alpha1.JavaOptionsIgnored), startingMember("c-again", "app:2", v1alpha1.JavaOptionsIgnored),
		startingMember("c-other", "app:3", v1alpha1.JavaOptionsIgnored), denied, long,
		startingMember("f", "app:5", v1alpha1.JavaOptionsSet), startingMember("f-other", "app:6", v1alpha1.JavaOptionsSet))
	list := func(f *fleet) (all []string) {
		for _, s := range f.nextStart().Skipped {
			all = append(all, fmt.Sprintf("%s %s %s %s", s.Name, s.Image, s.Reason, s.Pod))
		}
		return all
	}
	want := []string{
		"app app:2 VariableNotRead c", "app app:3 VariableNotRead c-other", "app app:4 LoadingDenied d", "app  VariableNotRead e",
	}
	got := list(startingFleet(members...))
	if len(got) != maxNextStartsSkipped {
		t.Errorf("skipped: got %d, want %d", len(got), maxNextStartsSkipped)
	}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Errorf("first of skipped (-want +got):\n%s", diff)
	}
	want = append(want, "app  MayBeSetFromReference b", "app app:5 SetByImage f", "app app:6 SetByImage f-other")
	if diff := cmp.Diff(want, list(startingFleet(members[maxNextStartsSkipped:]...))); diff != "" {
		t.Errorf("skipped, without the others (-want +got):\n%s", diff)
	}
}

// A pod is covered if the next start is sure to give the option to each JVM that warns.
func TestCovered(t *testing.T) {
	value := func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: v1alpha1.JavaOptionsVariable, Value: "-Da"}} }
	later := func(m member) member {
		m.process().AgentLoading = v1alpha1.AgentLoadingWarnsAfterUpgrade
		return m
	}
	mirror := startingMember("mirror", "app:1", v1alpha1.JavaOptionsAbsent)
	mirror.pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	two := startingMember("two", "app:1", v1alpha1.JavaOptionsAbsent)
	two.attachment.Status.Processes = append(two.attachment.Status.Processes, *two.process())
	two.attachment.Status.Processes[1].AgentLoading = v1alpha1.AgentLoadingWarnsAfterUpgrade
	for name, tc := range map[string]struct {
		member member
		want   bool
	}{
		"the variable is added":                          {startingMember("a", "app:1", v1alpha1.JavaOptionsAbsent), true},
		"a value becomes longer":                         {startingMember("a", "app:1", v1alpha1.JavaOptionsSet, value), true},
		"an upgrade brings an image that is not known":   {later(startingMember("a", "app:1", v1alpha1.JavaOptionsAbsent)), false},
		"an upgrade, and the value hides the image's":    {later(startingMember("a", "app:1", v1alpha1.JavaOptionsSet, value)), true},
		"a value, which the JVM is not known to read":    {startingMember("a", "app:1", "", value), false},
		"a value, which the JVM does not read":           {startingMember("a", "app:1", v1alpha1.JavaOptionsIgnored, value), false},
		"an image whose name is too long for the status": {startingMember("a", strings.Repeat("i", maxNextStartImage)+":1", v1alpha1.JavaOptionsAbsent), false},
		"the mirror of a static pod":                     {mirror, false},
		"one of two JVMs warns only after an upgrade":    {two, false},
	} {
		if got := tc.member.covered(&v1alpha1.PrometheusJmxExporter{}); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
