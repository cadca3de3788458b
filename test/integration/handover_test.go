package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// heir creates a younger exporter with the API's defaults, with a change.
func (s *story) heir(how func(*v1alpha1.PrometheusJmxExporter)) *v1alpha1.PrometheusJmxExporter {
	s.t.Helper()
	var heir *v1alpha1.PrometheusJmxExporter
	eventually(s.t, func() bool {
		heir = s.anExporter("heir")
		if how != nil {
			how(heir)
		}
		if create(s.t, heir); s.exporter.CreationTimestamp.Before(&heir.CreationTimestamp) {
			return true
		}
		remove(s.t, heir)
		return false
	})
	return heir
}

// Another exporter takes the pod over: its JmxAttachment is kept with its status, its agent
// keeps running, and its annotations stay all the while.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), nil)
	heir := s.heir(nil)
	o.settle()
	record := s.attachment(s.pod).UID
	remove(t, s.exporter)
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		err := do()
		if s.annotations(s.pod)["prometheus.io/port"] != "9400" {
			t.Errorf("annotations after %s: got %v", effect.What, s.pod.Annotations)
		}
		return err
	}
	s.garbageCollect()
	o.settle()
	s.exporter = heir
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); j.Unloads > 0 || j.Loads != 1 {
		t.Errorf("the agent: got %d loads and %d unloads, want one load", j.Loads, j.Unloads)
	}
	a := s.attachment(s.pod)
	if a.UID != record || a.Spec.Exporter.Name != "heir" || a.Labels[v1alpha1.LabelExporterUID] != string(heir.UID) {
		t.Errorf("the JmxAttachment was not kept with a new owner: %+v", a)
	}
	if got, want := s.message("Discovered"), "True Selected: PrometheusJmxExporter heir selects the pod."; got != want {
		t.Errorf("condition Discovered: got %q, want %q", got, want)
	}
}

// An existing endpoint stays published under the new owner, whatever the owner waits for,
// and is removed when the new owner is deleted.
func TestTakenOverByOneThatDoesNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pod  *podBuilder
		heir func(*v1alpha1.PrometheusJmxExporter)
		want string
	}{
		"the new owner's configuration is missing": {
			pod: aPod("app-0"), heir: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapName = "missing" }, want: "Annotated",
		},
		"the new owner is suspended": {
			pod: aPod("app-0"), heir: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true }, want: "Annotated",
		},
		"the new owner is suspended, and the annotations are foreign": {
			pod: aPod("app-0").annotated("prometheus.io/scrape", "true"), heir: func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true },
			want: "Exposed AnnotationConflict",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := longRunning(t, tc.pod, nil)
			before := s.endpoints(s.exporter)
			heir := s.heir(tc.heir)
			o.settle()
			remove(t, s.exporter)
			s.garbageCollect()
			o.tire()
			if got := phaseOf(s.attachment(s.pod)); got != tc.want {
				t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, tc.want)
			}
			if got := s.endpoints(heir); got != before {
				t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
			}
			if got := s.verbs(); got != "" {
				t.Errorf("helper operations: got %q, want %q", got, "")
			}
			remove(t, heir)
			s.garbageCollect()
			o.outlast()
			if s.attachment(s.pod) != nil || s.jvm(s.pod).Running() || s.jvm(s.pod).Unloads != 1 {
				t.Errorf("the agent or its JmxAttachment still exists: %+v", s.attachment(s.pod))
			}
		})
	}
}

// A fleet that changes owners waits for rollout slots of the new owner, and stays
// published meanwhile.
func TestFleetTakenOver(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 4, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.o.settle()
	f.later(2 * time.Minute)
	f.o.settle()
	before := f.endpoints(f.exporter)
	heir := (&story{f.cluster, f.pods[0], f.exporter}).heir(func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Rollout = f.exporter.Spec.Rollout
		e.Spec.Port = 9500
	})
	f.o.settle()
	remove(t, f.exporter)
	f.garbageCollect()
	if _, err := f.o.round(); err != nil {
		t.Fatal(err)
	}
	if got := f.endpoints(heir); got != before {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
	}
	f.o.settle()
	f.later(5 * time.Second)
	f.o.settle()
	for _, pod := range f.pods {
		if j := f.jvm(pod); j.Loads != 1 || j.Unloads > 0 || j.Mark.Port != 9500 {
			t.Errorf("the agent in %s: got %d loads, %d unloads and port %d, want one load and port 9500", pod.Name, j.Loads, j.Unloads, j.Mark.Port)
		}
	}
}

// An agent that is found is recorded before it is reconfigured.
func TestRecordRemade(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, aPod("app-0"), nil)
	before := s.endpoints(s.exporter)
	remove(t, s.attachment(s.pod))
	s.containers.Fail(helperapi.VerbStage, v1alpha1.ReasonNoSpace)
	s.container(s.pod).RemoveFiles()
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != "JavaFound NoSpace" {
		t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "JavaFound NoSpace")
	}
	if got := s.endpoints(s.exporter); got != before {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
	}
	remove(t, s.exporter)
	s.garbageCollect()
	o.outlast()
	if s.attachment(s.pod) != nil || s.jvm(s.pod).Running() {
		t.Errorf("the agent or its JmxAttachment still exists: %+v", s.attachment(s.pod))
	}
}

// JmxAttachments that are deleted while the rollout is halted are recreated without removing an endpoint.
func TestRecordsRemadeWhileHalted(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, nil)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	before := f.endpoints(f.exporter)
	f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
	f.configure(changed)
	f.o.settle()
	for _, pod := range f.pods {
		remove(t, f.attachment(pod))
	}
	asked := f.asked()
	for range 3 {
		f.later(time.Hour)
		f.o.settle()
	}
	f.expect("the JmxAttachments are recreated", "JavaFound RolloutHalted", "JavaFound RolloutHalted")
	f.expectAsked("the JmxAttachments are recreated", asked)
	if got := f.endpoints(f.exporter); got != before {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, before)
	}
	remove(t, f.exporter)
	f.garbageCollect()
	f.o.outlast()
	for _, pod := range f.pods {
		if f.jvm(pod).Running() {
			t.Errorf("the agent in %s is still running", pod.Name)
		}
	}
}
