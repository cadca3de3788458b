package exporter

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Figures are written once per period, and all else at once.
func TestProgress(t *testing.T) {
	exporter := types.NamespacedName{Namespace: "shop", Name: "jmx"}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.PrometheusJmxExporterStatus)
		after  time.Duration
		want   time.Duration
	}{
		"a pod is Annotated": {func(s *v1alpha1.PrometheusJmxExporterStatus) {
			s.Pods, s.Phases, s.Updated = "2/3", []v1alpha1.PhaseCount{{Phase: v1alpha1.PhaseAnnotated, Count: 2}}, 2
			s.MetricsEndpoints = []v1alpha1.MetricsEndpoint{{Pod: "a", Port: 9400}}
			s.Conditions[0].Message = "2 of 3 matched pods are Annotated."
		}, 2 * time.Second, 3 * time.Second},
		"a pod is Annotated later":  {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Pods = "2/3" }, progressPeriod, 0},
		"the clock went back":       {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Pods = "2/3" }, -time.Hour, 0},
		"the exporter is Ready":     {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Conditions[0].Status = metav1.ConditionTrue }, 0, 0},
		"the reason changed":        {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Conditions[0].Reason = v1alpha1.ReasonAPIError }, 0, 0},
		"the configuration is kept": {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Conditions[1].Message = "" }, 0, 0},
		"the rollout is halted":     {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Halt = &v1alpha1.Halt{} }, 0, 0},
		"the rollout is paused":     {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Restarts = &v1alpha1.Restarts{Paused: true} }, 0, 0},
		"another generation":        {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.ObservedGeneration = 2 }, 0, 0},
		"another revision":          {func(s *v1alpha1.PrometheusJmxExporterStatus) { s.Revision = "new" }, 0, 0},
	} {
		before := v1alpha1.PrometheusJmxExporterStatus{
			Pods: "1/3", ObservedGeneration: 1,
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonReconciled, Message: "1 of 3 matched pods are Annotated."},
				{Type: v1alpha1.ConditionConfigValid, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonValid, Message: "Not kept."},
			},
		}
		after := *before.DeepCopy()
		tc.change(&after)
		p, now := progress{period: progressPeriod}, time.Now()
		if wait := p.wait(exporter, &before, &after, now); wait != 0 {
			t.Errorf("%s: the first write waits for %s", name, wait)
		}
		p.note(exporter, now)
		if got := p.wait(exporter, &before, &after, now.Add(tc.after)); got != tc.want {
			t.Errorf("%s: got a wait of %s, want %s", name, got, tc.want)
		}
		if p.forget(exporter); p.wait(exporter, &before, &after, now) != 0 {
			t.Errorf("%s: an exporter that is deleted is remembered", name)
		}
	}
}

// A write of figures comes after its time, and the first write of an exporter at once.
func TestProgressIsWritten(t *testing.T) {
	r, clock := (&cache{}).reconciler(), testclock.NewFakePassiveClock(now)
	r.Clock, r.progress.period = clock, progressPeriod
	exporter := &v1alpha1.PrometheusJmxExporter{}
	for i, want := range []time.Duration{0, progressPeriod, 2 * time.Second, 0, progressPeriod} {
		if i == 2 || i == 3 {
			clock.SetTime(clock.Now().Add([]time.Duration{3 * time.Second, 2 * time.Second}[i-2]))
		}
		status := &v1alpha1.PrometheusJmxExporterStatus{Matched: 9, Updated: int32(i + 1)}
		wait, err := r.writeStatus(t.Context(), exporter, status)
		if err != nil || wait != want {
			t.Errorf("write %d: got a wait of %s, %v; want %s", i, wait, err, want)
		}
		if wait == 0 {
			exporter.Status = *status
		}
	}
}
