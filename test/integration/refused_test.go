package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A problem that needs a person is reported once, and the pod is not inspected
// again before its containers change.
func TestNeedsPerson(t *testing.T) {
	t.Parallel()
	refuse := func(reason helperapi.Reason) func(*container) {
		return func(c *container) {
			c.JVMs[0].Refusal = &helperapi.Error{Reason: reason, Message: "The container says " + string(reason) + "."}
		}
	}
	execs := func(reason string) func(*container) {
		return func(c *container) { c.Fault = fault(reason) }
	}
	loads := func(reason string) func(*container) {
		return func(c *container) { c.JVMs[0].Fault = fault(reason) }
	}
	cases := map[string]struct {
		wrong func(*container)
		want  v1alpha1.Phase
	}{
		v1alpha1.ReasonAttachDisabled:           {refuse(helperapi.ReasonAttachDisabled), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonAgentLoadingDisabled:     {refuse(helperapi.ReasonAgentLoadingDisabled), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonSignalsReduced:           {refuse(helperapi.ReasonSignalsReduced), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonUnsupportedJVM:           {refuse(helperapi.ReasonUnsupportedJVM), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonUserMismatch:             {refuse(helperapi.ReasonUserMismatch), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonTmpShared:                {refuse(helperapi.ReasonTmpShared), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonForeignJar:               {refuse(helperapi.ReasonForeignJar), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonNoShell:                  {execs(v1alpha1.ReasonNoShell), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonTmpNotWritable:           {execs(v1alpha1.ReasonTmpNotWritable), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonStorageLimitTooLow:       {execs(v1alpha1.ReasonStorageLimitTooLow), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonAgentDirectoryNotTrusted: {execs(v1alpha1.ReasonAgentDirectoryNotTrusted), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonHelperNotExecutable:      {execs(v1alpha1.ReasonHelperNotExecutable), v1alpha1.PhaseDiscovered},
		v1alpha1.ReasonMissingModule:            {loads(v1alpha1.ReasonMissingModule), v1alpha1.PhaseStaged},
		v1alpha1.ReasonConfigRejected:           {loads(v1alpha1.ReasonConfigRejected), v1alpha1.PhaseStaged},
		v1alpha1.ReasonRuleTooExpensive:         {loads(v1alpha1.ReasonRuleTooExpensive), v1alpha1.PhaseStaged},
	}
	for reason, tc := range cases {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			o := c.operate()
			pod := c.run(aPod("app-0"))
			tc.wrong(c.container(pod))
			e := c.export("exporter")

			again := o.settle()
			refusal{phase: tc.want, reason: reason, says: "The container says " + reason + "."}.is(o, pod)
			if again != 0 {
				t.Errorf("the pod is reconciled again in %s, although only a person can resolve the problem", again)
			}
			get(t, e)
			if e.Status.Phase != v1alpha1.PhaseRefused || e.Status.Refused != 1 || !meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("the exporter's status does not report its only pod as refused: %+v", e.Status)
			}
			if ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady); v1alpha1.Halts(reason) && ready.Reason != reason ||
				!v1alpha1.Halts(reason) && ready.Message != "Refused pods: app-0: "+reason+"." {
				t.Errorf("Ready of the exporter: got %s %q", ready.Reason, ready.Message)
			}

			o.did()
			c.containers.Called()
			for range 3 {
				c.later(24 * time.Hour)
				o.settle()
			}
			if calls, did := c.containers.Called(), o.did(); len(calls)+len(did) > 0 {
				t.Errorf("without a change: got effects %q and helper operations %q, want none", did, calls)
			}

			c.restart(pod)
			if v1alpha1.Halts(reason) { // a restart alone does not resume the rollout
				o.settle()
				change(t, e, func(e *v1alpha1.PrometheusJmxExporter) {
					e.Annotations = map[string]string{v1alpha1.AnnotationResume: "now"}
				})
			}
			o.settle()
			(&story{c, pod, e}).isAnnotated("9400")
		})
	}
}

// refusal is the expected state of a refused pod.
type refusal struct {
	phase        v1alpha1.Phase
	reason, says string
}

// is checks the status, one Warning with the same message, and that nothing was loaded.
func (r refusal) is(o *operator, pod *corev1.Pod) {
	o.t.Helper()
	a := o.attachment(pod)
	if got, want := phaseOf(a), string(r.phase)+" "+r.reason; got != want {
		o.t.Fatalf("phase of %s: got %q, want %q", pod.Name, got, want)
	}
	ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, r.says) || !strings.HasSuffix(ready.Message, ".") {
		o.t.Errorf("message of Ready: got %q, want it to contain %q", ready.Message, r.says)
	}
	told := 0
	for _, e := range o.events.with(r.reason) {
		if e.Note == ready.Message && e.Type == corev1.EventTypeWarning {
			told++
		}
	}
	if told == 0 {
		o.t.Errorf("no Event has the message %q", ready.Message)
	}
	for _, j := range o.container(pod).JVMs {
		if j.Loads > 0 {
			o.t.Error("an agent was loaded")
		}
	}
	if left := o.annotations(pod); len(left) > 0 {
		o.t.Errorf("annotations of %s: got %v, want none", pod.Name, left)
	}
}
