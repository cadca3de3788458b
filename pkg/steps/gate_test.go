package steps

import (
	"github.com/google/go-cmp/cmp"

	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases of a JVM that may be tried, and the reasons against others: nothing new is
// loaded into a JVM before that is granted, and what it has is kept.
func TestGate(t *testing.T) {
	granted := func(s *scene) { s.Granted = true }
	staged := func(s *scene) { s.Status().Processes[0].Staged = &v1alpha1.StagedFiles{} }
	attached := func(s *scene) { staged(s); s.Status().Processes[0].Port = 9400 }
	changed := func(s *scene) { s.Config.SHA256 = "changed" }
	midway := func(s *scene) { attached(s); s.Status().Processes[0].ConfigSHA256 = "old" }
	stopped := func(s *scene) {
		attached(s)
		s.Status().Processes[0].Staged.ConfigSHA256, s.Config.SHA256 = "config", "config"
	}
	adopted := func(s *scene) { s.Status().Processes[0].Adopted, s.Status().Processes[0].Port = true, 9999 }
	restarted := func(of string) func(*scene) {
		return func(s *scene) {
			s.Granted = true
			s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
			s.Status().Restart = &v1alpha1.Restart{Revision: of, Container: "app", Message: "It ended.", Count: 1, Time: new(metav1.NewTime(start))}
		}
	}
	again := func(s *scene) { s.Status().Restart.Count = 2 }
	longAgo := func(s *scene) { s.Status().Restart.Time = new(metav1.NewTime(start.Add(-provenAfter))) }
	runsFor := func(age time.Duration) func(*scene) {
		return func(s *scene) {
			s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(-age))
		}
	}
	paused := func(of string) func(*scene) {
		return func(s *scene) {
			s.Exporter.Status.Restarts = &v1alpha1.Restarts{Revision: of, Paused: true}
			s.Granted, s.ProvenOnly = true, true
		}
	}
	proven := func(of string) func(*scene) {
		return func(s *scene) {
			s.Granted, s.ProvenOnly = true, true
			s.Status().Containers = []v1alpha1.InspectedContainer{{Name: "app", ProvenRevision: of}, {Name: "other", ProvenRevision: revision}}
		}
	}
	halted := func(of string) func(*scene) {
		return func(s *scene) { s.Exporter.Status.Halt = &v1alpha1.Halt{Revision: of} }
	}
	// restarting is a container with an age whose previous instance lived for a time, both in seconds.
	restarting := func(lived, before int) func(*scene) {
		return func(s *scene) {
			s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
			app, begin := &s.Pod.Status.ContainerStatuses[0], start.Add(-time.Duration(lived)*time.Second)
			app.State.Running.StartedAt, app.Ready = metav1.NewTime(begin), true
			app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				StartedAt: metav1.NewTime(begin.Add(-time.Hour)), FinishedAt: metav1.NewTime(begin.Add(time.Duration(before)*time.Second - time.Hour)),
			}
		}
	}
	// young is a container with an age in seconds that has not restarted.
	young := func(age int, ready bool) func(*scene) {
		return func(s *scene) {
			restarting(age, 0)(s)
			s.Pod.Status.ContainerStatuses[0].Ready, s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = ready, nil
		}
	}
	suspended := func(s *scene) { s.Exporter.Spec.Suspend = true }
	warns := func(s *scene) {
		s.Exporter.Spec.DynamicAgentLoading = v1alpha1.DynamicAgentLoadingRefuseOnWarning
		s.Status().Processes[0].LoadWarns = true
	}
	preflight := func(s *scene) {
		s.Exporter.Spec.Mode = v1alpha1.ModePreflight
		s.Artifacts = &Artifacts{}
	}
	loaded := func(s *scene) { staged(s); s.Status().Processes[0].AgentFound = true }
	broken := func(s *scene) { s.Config.Problem = &Problem{Reason: v1alpha1.ReasonConfigNotYAML} }
	withdrawn := func(s *scene) {
		s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: "alice", v1alpha1.AnnotationRequesterGroups: "[]"}
		s.Unauthorized = func() *statemachine.Outcome { return Unauthorized(context.Background(), noAuthority{}, s.Exporter) }
	}
	both := func(reason string) []string { return []string{"Staged " + reason, "Loaded " + reason} }
	for name, tc := range map[string]struct {
		how  []func(*scene)
		want []string
	}{
		"the JVM is granted":                                                                            {how: []func(*scene){granted}},
		"the JVM is not granted":                                                                        {want: both("RolloutPending")},
		"the JVM is not granted, and staged":                                                            {how: []func(*scene){staged}, want: both("RolloutPending")[1:]},
		"the JVM is not granted, and serves":                                                            {how: []func(*scene){attached}},
		"the JVM is not granted what is staged, and serves":                                             {how: []func(*scene){midway}, want: both("RolloutPending")[1:]},
		"the JVM is granted what is staged, and serves":                                                 {how: []func(*scene){granted, midway}},
		"the rollout is halted, and the JVM serves, with other files staged":                            {how: []func(*scene){granted, midway, halted(revision), proven("old")}, want: both("RolloutHalted")[1:]},
		"the JVM is not granted, and adopted":                                                           {how: []func(*scene){adopted}, want: both("RolloutPending")[:1]},
		"the exporter is suspended":                                                                     {how: []func(*scene){suspended}, want: both("Suspended")},
		"the exporter is suspended, and the configuration is invalid":                                   {how: []func(*scene){suspended, broken}, want: both("Suspended")},
		"the configuration is invalid":                                                                  {how: []func(*scene){broken}, want: both("ConfigNotYAML")},
		"the configuration is invalid, and the JVM serves":                                              {how: []func(*scene){broken, attached}},
		"the rollout is halted":                                                                         {how: []func(*scene){halted(revision)}, want: both("RolloutHalted")},
		"the rollout is halted, and the container has proven it":                                        {how: []func(*scene){halted(revision), proven(revision)}},
		"the rollout is halted, and the container has proven another":                                   {how: []func(*scene){halted(revision), proven("old")}, want: both("RolloutHalted")},
		"the rollout is halted, the container has proven it, and exited after an attach":                {how: []func(*scene){halted(revision), proven(revision), restarted(revision)}, want: both("RestartedAfterAttach")},
		"the rollout is halted, and the serving JVM has a new configuration":                            {how: []func(*scene){halted(revision), proven("old"), attached, changed}},
		"the rollout is paused":                                                                         {how: []func(*scene){paused(revision)}, want: both("RolloutPending")},
		"the rollout is paused, and the container has proven it":                                        {how: []func(*scene){paused(revision), proven(revision)}},
		"the rollout of another revision was paused":                                                    {how: []func(*scene){granted, func(s *scene) { paused("old")(s); s.ProvenOnly = false }}},
		"the rollout of another revision was halted":                                                    {how: []func(*scene){halted("old")}, want: both("RolloutPending")},
		"the rollout is halted, and suspended":                                                          {how: []func(*scene){halted(revision), suspended}, want: both("Suspended")},
		"the JVM exited after an attach":                                                                {how: []func(*scene){restarted(revision)}, want: both("ContainerRestarting")},
		"the JVM exited after an attach long ago":                                                       {how: []func(*scene){restarted(revision), longAgo}},
		"the JVM exited after an attach long ago, and again by itself":                                  {how: []func(*scene){restarted(revision), longAgo, runsFor(time.Minute)}, want: both("ContainerRestarting")},
		"the JVM exited after an attach long ago, and runs since":                                       {how: []func(*scene){restarted(revision), longAgo, runsFor(provenAfter)}},
		"the JVM exited after an attach twice":                                                          {how: []func(*scene){restarted(revision), longAgo, again}, want: both("RestartedAfterAttach")},
		"the JVM exited after an attach, and the rollout is halted":                                     {how: []func(*scene){restarted(revision), longAgo, halted(revision)}, want: both("RestartedAfterAttach")},
		"another JVM restarted after an attach, and this JVM serves":                                    {how: []func(*scene){restarted(revision), attached}},
		"the container restarts by itself":                                                              {how: []func(*scene){granted, restarting(20, 20)}, want: both("ContainerRestarting")},
		"the container restarts by itself, and is not granted":                                          {how: []func(*scene){restarting(20, 20)}, want: both("ContainerRestarting")},
		"the container restarts by itself, and the JVM serves":                                          {how: []func(*scene){granted, restarting(20, 20), attached}},
		"the container restarts by itself, and the serving JVM has a new configuration":                 {how: []func(*scene){granted, restarting(20, 20), attached, changed}, want: both("ContainerRestarting")},
		"the container restarts by itself, and the agent was stopped":                                   {how: []func(*scene){restarting(20, 20), stopped}, want: both("ContainerRestarting")[1:]},
		"the container restarts by itself, and the JVM is adopted":                                      {how: []func(*scene){granted, restarting(20, 20), adopted}, want: both("ContainerRestarting")[:1]},
		"the serving JVM has a new configuration":                                                       {how: []func(*scene){granted, attached, changed}},
		"the container restarts by itself, after an attach":                                             {how: []func(*scene){restarted(revision), restarting(20, 20)}, want: both("ContainerRestarting")},
		"the container is not ready":                                                                    {how: []func(*scene){granted, young(80, false)}},
		"the container is not ready, and younger than the window":                                       {how: []func(*scene){granted, young(30, false)}, want: both("ContainerNotReady")},
		"the container is ready, and younger than the window":                                           {how: []func(*scene){granted, young(30, true)}},
		"the container has outlived its previous instance":                                              {how: []func(*scene){granted, restarting(80, 20)}, want: both("ContainerRestarting")},
		"the container has outlived its previous instance, and has proven it":                           {how: []func(*scene){proven(revision), restarting(80, 20)}},
		"the container has outlived its previous instance, and the serving JVM has a new configuration": {how: []func(*scene){granted, restarting(80, 20), attached, changed}},
		"the container has run for ten minutes":                                                         {how: []func(*scene){granted, restarting(600, 20)}},
		"the container exited after an attach, and had proven it":                                       {how: []func(*scene){proven(revision), restarted(revision)}, want: both("ContainerRestarting")},
		"the previous instance lived for long":                                                          {how: []func(*scene){proven(revision), restarting(20, 140)}},
		"the JVM restarted with another revision":                                                       {how: []func(*scene){restarted("old")}},
		"the mode is Preflight":                                                                         {how: []func(*scene){preflight}, want: both("Preflight")},
		"the mode is Preflight, suspended, and the configuration is invalid":                            {how: []func(*scene){preflight, suspended, broken}, want: both("Preflight")},
		"the mode is Preflight, and a load would warn":                                                  {how: []func(*scene){preflight, warns}, want: both("AgentLoadingWarns")},
		"the mode is Preflight, and the JVM serves":                                                     {how: []func(*scene){preflight, attached}},
		"the right is revoked":                                                                          {how: []func(*scene){granted, withdrawn}, want: both("NotAuthorized")},
		"the right is revoked in mode Preflight":                                                        {how: []func(*scene){preflight, withdrawn}, want: both("NotAuthorized")},
		"the right is revoked, and the agent is loaded":                                                 {how: []func(*scene){granted, loaded, withdrawn}},
		"a load would warn":                                                                             {how: []func(*scene){granted, warns}, want: both("AgentLoadingWarns")},
		"a load would warn, and is not granted":                                                         {how: []func(*scene){warns}, want: both("AgentLoadingWarns")},
		"a load would warn, and the agent is loaded":                                                    {how: []func(*scene){granted, loaded, warns}},
		"a load would warn, and the JVM is adopted":                                                     {how: []func(*scene){granted, adopted, warns}},
	} {
		s := aPod()
		for _, how := range tc.how {
			how(s)
		}
		var got []string
		for _, step := range JVMSteps(s.Tools) {
			closed := s.jvm().Gate(step.Phase())
			if closed == nil {
				continue
			}
			got = append(got, fmt.Sprintf("%s %s", step.Phase(), closed.Reason))
			if closed.Kind == statemachine.Done || closed.Kind == statemachine.Queued {
				t.Errorf("%s: got outcome %+v, want a reason", name, closed)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A new grant clears the outcome of an earlier revision: otherwise it would count as the
// outcome of the new one, and halt its rollout, or free its slot.
func TestGrantedAfresh(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonRolloutPending, v1alpha1.ReasonConfigRejected} {
		s := servingPod()
		s.Status().Revision = "old"
		p := &s.Status().Processes[0]
		p.Phase, p.Reason, p.Message, p.Attempt = v1alpha1.PhaseStaged, reason, "Before.", &v1alpha1.Attempt{Count: 3}
		s.renew(t)
		if s.Status().Revision != revision || p.Reason != "" || p.Message != "" || p.Attempt != nil {
			t.Errorf("%s: outcome kept at revision %s: %s: %s", reason, s.Status().Revision, p.Reason, p.Message)
		}
	}
}

// noAuthority is a Authority that grants the right to no one.
type noAuthority struct{}

// MayAttach implements Authority.
func (noAuthority) MayAttach(context.Context, Requester, types.NamespacedName) (bool, error) {
	return false, nil
}

// MayExec implements Authority.
func (noAuthority) MayExec(context.Context, Requester, types.NamespacedName) (bool, error) {
	return false, nil
}

// MayRead implements Authority.
func (noAuthority) MayRead(context.Context, Requester, types.NamespacedName) (bool, error) {
	return false, nil
}
