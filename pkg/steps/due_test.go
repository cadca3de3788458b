package steps

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// When a container is inspected: at once, or at which time. A container that is not due must
// not have a time in the past, which would be a hot loop.
func TestDue(t *testing.T) {
	after := func(s *scene, key string, d time.Duration) *v1alpha1.Attempt {
		return &v1alpha1.Attempt{Key: key, Phase: v1alpha1.PhaseJavaFound, Count: 1, NextTime: new(metav1.NewTime(s.Now.Add(d)))}
	}
	entry := func(s *scene) *v1alpha1.InspectedContainer { return &s.Status().Containers[0] }
	failed := func(d time.Duration) func(*scene) {
		return func(s *scene) {
			entry(s).Reason, entry(s).Attempt = v1alpha1.ReasonExecFailed, after(s, s.Key(), d)
		}
	}
	starting := func(d time.Duration) func(*scene) {
		return func(s *scene) {
			p := s.jvm().Process
			p.Phase, p.Reason, p.Attempt = v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting, after(s, s.Key(), d)
		}
	}
	reinspect := func(d time.Duration) func(*scene) {
		return func(s *scene) {
			ready := func(since time.Duration) {
				at := metav1.NewTime(s.Now.Add(-since))
				s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at}}
				entry(s).Time = new(metav1.NewTime(at.Add(-time.Second)))
			}
			ready(0)
			ready(s.reinspectAfter(entry(s)) - d)
		}
	}
	rules := func(s *scene) { s.Exporter.Spec.AllowSharedTmp = true }
	untouched := func(s *scene) { s.Granted = false }
	notGranted := func(s *scene) { s.Granted, s.jvm().Process.AgentFound = false, true }
	named := func(s *scene) { s.Exporter.Spec.Containers = []v1alpha1.ContainerName{"worker"} }
	stops := func(s *scene) { s.Pod.Status.ContainerStatuses[0].State.Running = nil }
	refuses := func(phase v1alpha1.Phase, reason string) func(*scene) {
		return func(s *scene) {
			p := s.jvm().Process
			p.Phase, p.Reason = phase, reason
			p.Attempt = &v1alpha1.Attempt{Key: s.Key(), Phase: v1alpha1.PhaseJavaFound, Count: 1}
		}
	}
	const soon, past = 10 * time.Second, -time.Second
	for name, tc := range map[string]struct {
		how   []func(*scene)
		due   bool
		after time.Duration
	}{
		"everything is known":                                         {},
		"the container was never inspected":                           {how: []func(*scene){func(s *scene) { s.Status().Containers = nil }}, due: true},
		"the container was replaced":                                  {how: []func(*scene){func(s *scene) { entry(s).ContainerID = "containerd://old" }}, due: true},
		"the rules changed":                                           {how: []func(*scene){rules}, due: true},
		"the rules changed, and the inspection fails":                 {how: []func(*scene){rules, failed(soon)}, after: soon},
		"the pod became ready, and the inspection fails":              {how: []func(*scene){reinspect(0), failed(soon)}, after: soon},
		"the rules changed, and are not granted":                      {how: []func(*scene){rules, notGranted}},
		"the rules changed, are not granted, and nothing is attached": {how: []func(*scene){rules, untouched}, due: true},
		"the rules changed, nothing is attached, and its endpoint is published": {how: []func(*scene){rules, untouched, func(s *scene) {
			s.Published = []PublishedEndpoint{{Address: "10.0.0.1", Port: 9400}}
		}}},
		"the pod became ready":                   {how: []func(*scene){reinspect(0)}, due: true},
		"the pod became ready just now":          {how: []func(*scene){reinspect(soon)}, after: soon},
		"the inspection failed":                  {how: []func(*scene){failed(soon)}, after: soon},
		"the inspection failed a while ago":      {how: []func(*scene){failed(past)}, due: true},
		"the inspection failed with another key": {how: []func(*scene){failed(soon), func(s *scene) { entry(s).Attempt.Key = "old" }}, due: true, after: soon},
		"the inspection failed permanently": {how: []func(*scene){func(s *scene) {
			failed(past)(s)
			entry(s).Reason, entry(s).Attempt.NextTime = v1alpha1.ReasonTmpNotWritable, nil
		}}},
		"the JVM is starting":                                                 {how: []func(*scene){starting(soon)}, after: soon},
		"the JVM should have started":                                         {how: []func(*scene){starting(past)}, due: true},
		"the JVM should have started, and the exec failed":                    {how: []func(*scene){starting(past), failed(soon)}, after: soon},
		"the JVM should have started, and is excluded":                        {how: []func(*scene){starting(past), func(s *scene) { excluded(s.jvm().Process) }}},
		"the JVM is refused":                                                  {how: []func(*scene){refuses(v1alpha1.PhaseDiscovered, v1alpha1.ReasonAttachDisabled)}},
		"the JVM is refused in a later phase":                                 {how: []func(*scene){refuses(v1alpha1.PhaseStaged, v1alpha1.ReasonForeignJar)}},
		"the JVM fails in a later phase":                                      {how: []func(*scene){refuses(v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse)}},
		"no JVM was found":                                                    {how: []func(*scene){func(s *scene) { s.Status().Processes = nil }}, due: true},
		"a JVM was found in another container only":                           {how: []func(*scene){func(s *scene) { s.Status().Processes = []v1alpha1.JavaProcess{aProcess("worker", 0)} }}},
		"the inspection failed, and the JVM stopped":                          {how: []func(*scene){failed(past), stops, notGranted}},
		"the inspection failed, and the container is not selected":            {how: []func(*scene){failed(past), named, notGranted}},
		"the container is no longer selected":                                 {how: []func(*scene){named}, due: true},
		"the container is not selected, and not granted":                      {how: []func(*scene){named, notGranted}},
		"the container is not selected, not granted, and nothing is attached": {how: []func(*scene){named, untouched}, due: true},
		"the JVM stopped, and will be excluded":                               {how: []func(*scene){stops}, due: true},
	} {
		s := aSituation(aProcess("app", 0)).inspectedWell()
		for _, how := range tc.how {
			how(s)
		}
		due, wait := s.inspectionDue(), s.inspectAfter()
		if due != tc.due {
			t.Errorf("%s: Due: got %t, want %t", name, due, tc.due)
		}
		if !due && wait != tc.after || wait < time.Second && wait != 0 && !due {
			t.Errorf("%s: next inspection in %s, want %s", name, wait, tc.after)
		}
	}
}

// A container is not inspected before its application had time to start.
func TestTooYoung(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		want time.Duration
	}{
		"the container starts now":              {0, minAge},
		"the container started a moment ago":    {minAge - time.Second, time.Second},
		"the container started long enough ago": {minAge, 0},
		"the node's clock is ahead":             {-time.Second, 0},
		"the start time is unknown":             {-1, 0},
	} {
		s := aSituation()
		s.runs("app")
		if tc.age != -1 {
			s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.Now.Add(-tc.age))
		}
		if got := s.tooYoung(pod.Running(s.Pod)[0]); got != tc.want {
			t.Errorf("%s: remaining time: got %s, want %s", name, got, tc.want)
			continue
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": sees()}}
		s.Helper = helper
		outcome := FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
		if ran := slices.Contains(helper.ran, "app inspect"); ran == (tc.want > 0) || tc.want > 0 && outcome.RetryAfter != tc.want {
			t.Errorf("%s: inspected: %t, retry after %s", name, ran, outcome.RetryAfter)
		}
	}
}
