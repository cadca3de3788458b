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

// grants returns the revision granted to each pod.
func (f *fleet) grants() []string {
	f.t.Helper()
	var grants []string
	for _, pod := range f.pods {
		grants = append(grants, f.attachment(pod).Spec.Revision)
	}
	return grants
}

// Resuming creates no new revision: pods keep their grants, no canary is needed again, and
// only the pod that halted the rollout is retried.
func TestResumeStartsNothingOver(t *testing.T) {
	t.Parallel()
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
	f.expect("a container restarts", isAnnotated, "JavaFound RestartedAfterAttach", isAnnotated, isAnnotated)
	f.expectAsked("a container restarts", "2 0 2 2")
	granted := f.grants()
	if cmp.Equal(before, granted) {
		t.Fatal("the change creates no new revision")
	}

	f.resume("1")
	f.expect("the rollout is resumed", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	f.expectAsked("the rollout is resumed", "2 1 2 2")
	f.expectSums("the rollout is resumed", "4/4/4, Ready True AllAnnotated, Stalled False Reconciled")
	if diff := cmp.Diff(granted, f.grants()); diff != "" {
		t.Errorf("grants after resuming (-want +got):\n%s", diff)
	}
	if f.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
	}
	if restart := f.attachment(f.pods[1]).Status.Restart; restart != nil {
		t.Errorf("the restart is still recorded: %+v", restart)
	}

	f.restart(f.pods[1]) // soon after the retry
	f.expect("the container restarts again", isAnnotated, "JavaFound RestartedAfterAttach", isAnnotated, isAnnotated)
	f.expectSums("the container restarts again", "4/3/4, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
	f.resume("2")
	f.expect("the rollout is resumed again", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
}

// A failed canary is retried before any other pod gets the rejected configuration.
func TestResumeTriesTheCanary(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(changed)
	f.expect("the canary rejects the configuration", "Staged ConfigRejected", isAnnotated, isAnnotated)
	asked := len(f.jvm(f.pods[0]).Asked)
	f.resume("1")
	f.expect("the canary rejects the configuration again", "Staged ConfigRejected", isAnnotated, isAnnotated)
	f.expectSums("the canary rejects the configuration again", "1/2/3, Ready False ConfigRejected, Stalled True ConfigRejected")
	for _, pod := range f.pods[1:] {
		if len(f.jvm(pod).Asked) != 1 {
			t.Errorf("%s got the configuration that the canary rejects", pod.Name)
		}
	}
	f.jvm(f.pods[0]).Fault = nil
	f.resume("2")
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the rollout is complete", isAnnotated, isAnnotated, isAnnotated)
	if len(f.jvm(f.pods[0]).Asked) != asked {
		t.Error("the canary was asked to load another configuration")
	}
	f.expectAsked("the rollout is complete", "2 2 2")
}
