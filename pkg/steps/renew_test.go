package steps

import (
	"github.com/google/go-cmp/cmp"

	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A detach that is called off keeps what was done to the pod: agents may be loaded, in an
// unknown state.
func TestReturn(t *testing.T) {
	s := servingPod()
	s.Status().DetachStartTime = &s.Now
	s.Status().Restart = &v1alpha1.Restart{Revision: "old"}
	s.renew(t)
	want := v1alpha1.JmxAttachmentStatus{Revision: revision, Processes: []v1alpha1.JavaProcess{{
		Container: "app", ContainerID: "containerd://1", PID: 7, StartTime: 11, Primary: true,
		Phase: v1alpha1.PhaseDiscovered, Intent: &v1alpha1.LoadIntent{ConfigSHA256: "config"},
	}}}
	if diff := cmp.Diff(want, *s.Status()); diff != "" || s.State.Phase != "" {
		t.Errorf("phase %q, status (-want +got):\n%s", s.State.Phase, diff)
	}
	for of, kept := range map[string]bool{"old": false, revision: true} {
		s := servingPod()
		s.Granted, s.Status().Restart = false, &v1alpha1.Restart{Revision: of}
		s.renew(t)
		if got := s.Status().Restart != nil; got != kept || s.Status().Revision != "" {
			t.Errorf("restart of revision %s kept: %t; revision of the status: %q", of, got, s.Status().Revision)
		}
	}
}

// Resuming retries the pod that halted the rollout, and nothing else.
func TestResumed(t *testing.T) {
	for reason, cleared := range map[string]bool{
		v1alpha1.ReasonConfigRejected: true, v1alpha1.ReasonRestartedAfterAttach: true, v1alpha1.ReasonNoShell: false, v1alpha1.ReasonPortInUse: false,
	} {
		s := servingPod()
		s.Exporter.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
		s.Status().Revision, s.Status().Restart = revision, &v1alpha1.Restart{Revision: revision}
		s.Status().Processes[0].Reason = reason
		s.renew(t)
		if s.Status().Restart != nil || s.Status().Resume != Resume(s.Exporter) || (s.Status().Processes[0].Reason == "") != cleared {
			t.Errorf("%s: status after resuming: %+v", reason, s.Status())
		}
		s.Status().Restart = &v1alpha1.Restart{Revision: revision}
		s.Status().Processes[0].Reason = reason
		s.renew(t)
		if s.Status().Restart == nil || s.Status().Processes[0].Reason != reason {
			t.Errorf("%s: a restart after resuming is dropped", reason)
		}
	}
}

// renew executes the moves of a reconcile that bring the record up to the exporter's spec.
func (s *scene) renew(t *testing.T) {
	t.Helper()
	moves, err := Regress(s.Situation)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		switch m := m.(type) {
		case Return, Renew:
			if err := m.(Change).Apply(s.Situation); err != nil {
				t.Fatal(err)
			}
		}
	}
}
