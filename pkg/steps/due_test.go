package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// When a container is inspected: at once, or at which time. A container that is not due must
// not have a time in the past, which would be a hot loop.
func TestDue(t *testing.T) {
	after := func(s *Scope, key string, d time.Duration) *v1alpha1.Attempt {
		return &v1alpha1.Attempt{Key: key, Phase: v1alpha1.PhaseJavaFound, Count: 1, NextTime: new(metav1.NewTime(s.Now.Add(d)))}
	}
	entry := func(s *Scope) *v1alpha1.InspectedContainer { return &s.Status().Containers[0] }
	failed := func(d time.Duration) func(*Scope) {
		return func(s *Scope) {
			entry(s).Reason, entry(s).Attempt = v1alpha1.ReasonExecFailed, after(s, s.Key(), d)
		}
	}
	starting := func(d time.Duration) func(*Scope) {
		return func(s *Scope) {
			p := s.jvm().Process
			p.Phase, p.Reason, p.Attempt = v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting, after(s, s.Key(), d)
		}
	}
	reinspect := func(d time.Duration) func(*Scope) {
		return func(s *Scope) {
			s.ReinspectAfter = func(*v1alpha1.InspectedContainer) time.Duration { return d }
		}
	}
	rules := func(s *Scope) { s.Exporter.Spec.AllowSharedTmp = true }
	untouched := func(s *Scope) { s.Granted = false }
	notGranted := func(s *Scope) { s.Granted, s.jvm().Process.AgentFound = false, true }
	named := func(s *Scope) { s.Exporter.Spec.Containers = []v1alpha1.ContainerName{"worker"} }
	stops := func(s *Scope) { s.Pod.Status.ContainerStatuses[0].State.Running = nil }
	refuses := func(phase v1alpha1.Phase, reason string) func(*Scope) {
		return func(s *Scope) {
			p := s.jvm().Process
			p.Phase, p.Reason = phase, reason
			p.Attempt = &v1alpha1.Attempt{Key: s.Key(), Phase: v1alpha1.PhaseJavaFound, Count: 1}
		}
	}
	const soon, past = 10 * time.Second, -time.Second
	for name, tc := range map[string]struct {
		how   []func(*Scope)
		due   bool
		after time.Duration
	}{
		"everything is known":                                         {},
		"the container was never inspected":                           {how: []func(*Scope){func(s *Scope) { s.Status().Containers = nil }}, due: true},
		"the container was replaced":                                  {how: []func(*Scope){func(s *Scope) { entry(s).ContainerID = "containerd://old" }}, due: true},
		"the rules changed":                                           {how: []func(*Scope){rules}, due: true},
		"the rules changed, and the inspection fails":                 {how: []func(*Scope){rules, failed(soon)}, after: soon},
		"the pod became ready, and the inspection fails":              {how: []func(*Scope){reinspect(0), failed(soon)}, after: soon},
		"the rules changed, and are not granted":                      {how: []func(*Scope){rules, notGranted}},
		"the rules changed, are not granted, and nothing is attached": {how: []func(*Scope){rules, untouched}, due: true},
		"the rules changed, nothing is attached, and its endpoint is published": {how: []func(*Scope){rules, untouched, func(s *Scope) {
			s.Published = []PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}}
		}}},
		"the pod became ready":                   {how: []func(*Scope){reinspect(0)}, due: true},
		"the pod became ready just now":          {how: []func(*Scope){reinspect(soon)}, after: soon},
		"the inspection failed":                  {how: []func(*Scope){failed(soon)}, after: soon},
		"the inspection failed a while ago":      {how: []func(*Scope){failed(past)}, due: true},
		"the inspection failed with another key": {how: []func(*Scope){failed(soon), func(s *Scope) { entry(s).Attempt.Key = "old" }}, due: true, after: soon},
		"the inspection failed permanently": {how: []func(*Scope){func(s *Scope) {
			failed(past)(s)
			entry(s).Reason, entry(s).Attempt.NextTime = v1alpha1.ReasonTmpNotWritable, nil
		}}},
		"the JVM is starting":                                                 {how: []func(*Scope){starting(soon)}, after: soon},
		"the JVM should have started":                                         {how: []func(*Scope){starting(past)}, due: true},
		"the JVM should have started, and the exec failed":                    {how: []func(*Scope){starting(past), failed(soon)}, after: soon},
		"the JVM should have started, and is excluded":                        {how: []func(*Scope){starting(past), func(s *Scope) { excluded(s.jvm().Process) }}},
		"the JVM is refused":                                                  {how: []func(*Scope){refuses(v1alpha1.PhaseDiscovered, v1alpha1.ReasonAttachDisabled)}},
		"the JVM is refused in a later phase":                                 {how: []func(*Scope){refuses(v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar)}},
		"the JVM fails in a later phase":                                      {how: []func(*Scope){refuses(v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse)}},
		"no JVM was found":                                                    {how: []func(*Scope){func(s *Scope) { s.Status().Processes = nil }}, due: true},
		"a JVM was found in another container only":                           {how: []func(*Scope){func(s *Scope) { s.Status().Processes = []v1alpha1.JavaProcess{aProcess("worker", 0)} }}},
		"the inspection failed, and the JVM stopped":                          {how: []func(*Scope){failed(past), stops, notGranted}},
		"the inspection failed, and the container is not selected":            {how: []func(*Scope){failed(past), named, notGranted}},
		"the container is no longer selected":                                 {how: []func(*Scope){named}, due: true},
		"the container is not selected, and not granted":                      {how: []func(*Scope){named, notGranted}},
		"the container is not selected, not granted, and nothing is attached": {how: []func(*Scope){named, untouched}, due: true},
		"the JVM stopped, and will be excluded":                               {how: []func(*Scope){stops}, due: true},
	} {
		s := aScope(aProcess("app", 0)).inspectedWell()
		for _, how := range tc.how {
			how(s)
		}
		due, wait := Due(s), s.InspectAfter()
		if due != tc.due {
			t.Errorf("%s: Due: got %t, want %t", name, due, tc.due)
		}
		if !due && wait != tc.after || wait < time.Second && wait != 0 && !due {
			t.Errorf("%s: next inspection in %s, want %s", name, wait, tc.after)
		}
	}
}
