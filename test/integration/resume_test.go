package integration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func (f *fleet) resume(value string) {
	f.t.Helper()
	change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Annotations = map[string]string{v1alpha1.AnnotationResume: value}
	})
}

// grants says of each pod which revision it has.
func (f *fleet) grants() []string {
	f.t.Helper()
	var grants []string
	for _, pod := range f.pods {
		grants = append(grants, f.attachment(pod).Spec.Revision)
	}
	return grants
}

// Resuming is no new revision: who has it keeps it, no canary goes first again, and
// only the pod that halted the rollout is tried again.
func TestResumeStartsNothingOver(t *testing.T) {
	f := aFleet(t, 4, careful)
	f.o.settle()
	f.later(24 * time.Hour)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	before := f.grants()
	f.later(24 * time.Hour)
	f.configure(changed)
	f.o.settle()
	f.later(24 * time.Hour)
	f.o.settle()
	f.restart(f.pods[1])
	f.expect("one restarts", isAnnotated, "JavaFound RestartedAfterAttach", isAnnotated, isAnnotated)
	f.expectAsked("one restarts", "2 0 2 2")
	granted := f.grants()
	if cmp.Equal(before, granted) {
		t.Fatal("the change is no new revision")
	}

	f.resume("1")
	f.expect("resumed", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	f.expectAsked("resumed", "2 1 2 2")
	f.expectSums("resumed", "4/4/4, Ready True AllAnnotated, Stalled False Reconciled")
	if diff := cmp.Diff(granted, f.grants()); diff != "" {
		t.Errorf("resumed, other revisions are granted (-want +got):\n%s", diff)
	}
	if f.exporter.Status.Halt != nil {
		t.Errorf("halt is %+v", f.exporter.Status.Halt)
	}
	if restart := f.attachment(f.pods[1]).Status.Restart; restart != nil {
		t.Errorf("the restart stands: %+v", restart)
	}

	f.restart(f.pods[1]) // soon after it was attached to again
	f.expect("it restarts again", isAnnotated, "JavaFound RestartedAfterAttach", isAnnotated, isAnnotated)
	f.expectSums("it restarts again", "4/3/4, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
	f.resume("2")
	f.expect("resumed again", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
}

// A canary that fails is tried again before any other pod gets what it failed with.
func TestResumeTriesTheCanary(t *testing.T) {
	f := aFleet(t, 3, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.jvm(f.pods[0]).fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(changed)
	f.expect("rejected", "Staged ConfigRejected", isAnnotated, isAnnotated)
	asked := len(f.jvm(f.pods[0]).asked)
	f.resume("1")
	f.expect("resumed, and rejected again", "Staged ConfigRejected", isAnnotated, isAnnotated)
	f.expectSums("resumed, and rejected again", "1/2/3, Ready False ConfigRejected, Stalled True ConfigRejected")
	for _, pod := range f.pods[1:] {
		if len(f.jvm(pod).asked) != 1 {
			t.Errorf("%s got what the canary rejects", pod.Name)
		}
	}
	f.jvm(f.pods[0]).fault = nil
	f.resume("2")
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("in the end", isAnnotated, isAnnotated, isAnnotated)
	if len(f.jvm(f.pods[0]).asked) != asked {
		t.Error("the canary was asked for something else")
	}
	f.expectAsked("in the end", "2 2 2")
}
