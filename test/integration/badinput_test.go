package integration

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// What a person got wrong in the configuration: every pod of the exporter says
// so, in words, and so do the exporter and an Event. Nothing is loaded, looking
// again now and then does nothing, and mending it is enough.
func TestBadConfiguration(t *testing.T) {
	cases := map[string]struct {
		content string // of the ConfigMap; none if empty
		key     string // that the exporter names, if another
		want    string
		says    string
	}{
		"no ConfigMap":        {want: v1alpha1.ReasonConfigMapMissing, says: "There is no ConfigMap rules"},
		"no such key":         {content: rules, key: "other.yaml", want: v1alpha1.ReasonConfigKeyMissing, says: "no key other.yaml"},
		"not YAML":            {content: "rules: {", want: v1alpha1.ReasonConfigNotYAML, says: "is not YAML"},
		"an unknown key":      {content: rules + "- patern: x\n", want: v1alpha1.ReasonConfigInvalid, says: "line 3"},
		"a wrong type":        {content: "rules: all\n", want: v1alpha1.ReasonConfigInvalid, says: "line 1"},
		"a hostPort in it":    {content: "hostPort: localhost:9010\n" + rules, want: v1alpha1.ReasonConfigForbidden, says: "hostPort"},
		"a jmxUrl in it":      {content: "jmxUrl: service:jmx:rmi://x\n" + rules, want: v1alpha1.ReasonConfigForbidden, says: "jmxUrl"},
		"more than 256 KiB":   {content: rules + strings.Repeat("# padding\n", 30000), want: v1alpha1.ReasonConfigTooLarge, says: "at most 262144"},
		"a control character": {content: rules + "# \x01\n", want: v1alpha1.ReasonConfigNotYAML, says: "line 3"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			o := c.operate()
			pod := c.run(aPod("app-0"))
			if tc.content != "" {
				c.configure(tc.content)
			}
			e := c.anExporter("exporter")
			e.Spec.Config.ConfigMapKey = cmp.Or(tc.key, e.Spec.Config.ConfigMapKey)
			create(t, e)

			again := o.settle()
			refusal{phase: v1alpha1.PhaseJavaFound, reason: tc.want, says: tc.says}.is(o, pod)
			if again != 0 && again != 10*time.Minute {
				t.Errorf("it is looked at again in %s, though an event will tell", again)
			}
			o.did()
			c.later(again)
			if o.settle(); o.count() > 0 {
				t.Errorf("looked at again, it did %q", o.did())
			}
			get(t, e)
			for kind, want := range map[string]metav1.ConditionStatus{
				v1alpha1.ConditionConfigValid: metav1.ConditionFalse,
				v1alpha1.ConditionReady:       metav1.ConditionFalse,
				v1alpha1.ConditionStalled:     metav1.ConditionTrue,
			} {
				condition := meta.FindStatusCondition(e.Status.Conditions, kind)
				if condition.Status != want || condition.Reason != tc.want || !strings.Contains(condition.Message, tc.says) {
					t.Errorf("the exporter's %s is %s %s: %q", kind, condition.Status, condition.Reason, condition.Message)
				}
			}

			c.configure(rules)
			change(t, e, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Config.ConfigMapKey = "config.yaml" })
			o.settle()
			(&story{c, pod, e}).isAnnotated("9400")
		})
	}
}

// What the exporter ignores in a configuration keeps nobody from being served. It
// is said as long as it is so, also by the next operator.
func TestUnknownKeysIgnored(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.configure("attrNameSnakeCase: true\n" + rules)
	s.exporter = create(t, s.anExporter("exporter"))
	says := func(reason string, words ...string) {
		t.Helper()
		get(t, s.exporter)
		valid := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
		if valid.Status != metav1.ConditionTrue || valid.Reason != reason {
			t.Errorf("ConfigValid is %s %s: %q", valid.Status, valid.Reason, valid.Message)
		}
		for _, word := range words {
			if !strings.Contains(valid.Message, word) {
				t.Errorf("ConfigValid says %q, without %q", valid.Message, word)
			}
		}
	}
	o.settle()
	s.isAnnotated("9400")
	says(v1alpha1.ReasonUnknownKeysIgnored, `"attrNameSnakeCase" on line 1`, "ConfigMap rules", "config.yaml")
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		want := kind == v1alpha1.ConditionReady
		if got := meta.IsStatusConditionTrue(s.exporter.Status.Conditions, kind); got != want {
			t.Errorf("%s is %t", kind, got)
		}
	}

	o = s.operate()
	o.settle()
	says(v1alpha1.ReasonUnknownKeysIgnored, `"attrNameSnakeCase" on line 1`)

	s.configure(rules)
	o.settle()
	says(v1alpha1.ReasonValid)
	s.isAnnotated("9400")
}

// What is wrong in a pod and needs a person: said once, and never looked at
// again before the pod's containers are others.
func TestNeedsPerson(t *testing.T) {
	refuse := func(reason helperapi.Reason) func(*container) {
		return func(c *container) {
			c.jvms[0].Refusal = &helperapi.Error{Reason: reason, Message: "The container says " + string(reason) + "."}
		}
	}
	execs := func(reason string) func(*container) {
		return func(c *container) { c.fault = fault(reason) }
	}
	loads := func(reason string) func(*container) {
		return func(c *container) { c.jvms[0].fault = fault(reason) }
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
				t.Errorf("it is looked at again in %s, though only a person helps", again)
			}
			get(t, e)
			if e.Status.Phase != v1alpha1.PhaseRefused || e.Status.Refused != 1 || !meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Errorf("the exporter does not say that its only pod is refused: %+v", e.Status)
			}
			if ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady); v1alpha1.Halts(reason) && ready.Reason != reason ||
				!v1alpha1.Halts(reason) && ready.Message != "Refused: app-0: "+reason+"." {
				t.Errorf("the exporter says %s %q", ready.Reason, ready.Message)
			}

			o.did()
			c.containers.called()
			for range 3 {
				c.later(24 * time.Hour)
				o.settle()
			}
			if calls, did := c.containers.called(), o.did(); len(calls)+len(did) > 0 {
				t.Errorf("without anything new it did %q and ran %q", did, calls)
			}

			c.restart(pod)
			if v1alpha1.Halts(reason) { // the restart alone does not take the rollout up again
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

// What may mend itself is tried again, at growing intervals of up to ten minutes,
// and not before.
func TestTriedAgain(t *testing.T) {
	fails := func(verb helperapi.Verb) func(*story, string) {
		return func(s *story, reason string) { s.containers.fail(verb, reason) }
	}
	mend := func(s *story) { s.containers.mend() }
	cases := map[string]struct {
		wrong func(*story, string)
		mend  func(*story)
		want  v1alpha1.Phase
		waits bool // it is awaited: no failure, no Event
	}{
		v1alpha1.ReasonNoJavaProcess: {
			wrong: func(s *story, _ string) { s.container(s.pod).jvms = nil },
			mend:  func(s *story) { s.container(s.pod).jvms = []*jvm{aJVM(javaStartTime)} },
			want:  v1alpha1.PhaseDiscovered,
		},
		v1alpha1.ReasonPortInUse: {
			wrong: func(s *story, _ string) { s.container(s.pod).busy = []int32{port} },
			mend:  func(s *story) { s.container(s.pod).busy = nil },
			want:  v1alpha1.PhaseStaged,
		},
		v1alpha1.ReasonJVMStarting:            {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, true},
		v1alpha1.ReasonBusy:                   {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, true},
		v1alpha1.ReasonAttachFailed:           {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, false},
		v1alpha1.ReasonAttachTimeout:          {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, false},
		v1alpha1.ReasonAgentNotAnswering:      {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, false},
		v1alpha1.ReasonStagingIncomplete:      {fails(helperapi.VerbStage), mend, v1alpha1.PhaseJavaFound, false},
		v1alpha1.ReasonNoSpace:                {fails(helperapi.VerbStage), mend, v1alpha1.PhaseJavaFound, false},
		v1alpha1.ReasonInsufficientMemory:     {fails(helperapi.VerbLoad), mend, v1alpha1.PhaseStaged, false},
		v1alpha1.ReasonExecTimeout:            {fails(helperapi.VerbInspect), mend, v1alpha1.PhaseDiscovered, false},
		v1alpha1.ReasonContainerNotResponding: {fails(helperapi.VerbInspect), mend, v1alpha1.PhaseDiscovered, false},
		v1alpha1.ReasonEndpointNotServing:     {func(s *story, reason string) { s.containers.probe = fault(reason) }, mend, v1alpha1.PhaseLoaded, false},
	}
	for reason, tc := range cases {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(aPod("app-0"))
			tc.wrong(s, reason)
			s.exporter = s.export("exporter")

			again := o.settle()
			a := s.attachment(s.pod)
			if got, want := phaseOf(a), string(tc.want)+" "+reason; got != want {
				t.Fatalf("the pod is %s, not %s", got, want)
			}
			// Tries are made when they are due, and only then.
			for try := 1; try <= 12; try++ {
				limit := min(time.Second<<(try-1), 10*time.Minute) // and a tenth, to whole seconds
				if again < limit || again > min(limit*11/10, 10*time.Minute)+time.Second {
					t.Errorf("after try %d it is tried again in %s", try, again)
				}
				if count := s.attachment(s.pod).Status.Attempt.Count; int(count) != try {
					t.Errorf("after try %d, %d are counted", try, count)
				}
				o.did()
				s.later(again - time.Millisecond)
				if _, err := o.round(); err != nil || o.count() > 0 {
					t.Errorf("before it was due it did %q; error: %v", o.did(), err)
				}
				s.later(time.Millisecond)
				_, _ = o.round()
				again, _ = o.round() // the exporter sums up what came of it
			}
			want := 1
			if tc.waits {
				want = 0
			}
			if events := o.events.with(reason); len(events) != want {
				t.Errorf("of Events there are %v", events)
			}

			tc.mend(s)
			o.outlast()
			s.isAnnotated("9400")
			if s.attachment(s.pod).Status.Attempt != nil {
				t.Error("the attempts are not forgotten")
			}
		})
	}
}

// The pod is deleted midway: at every effect, nothing is left and nothing is
// made again under its name.
func TestPodGoneMidway(t *testing.T) {
	begin := func(t *testing.T) (*story, *operator) {
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0"))
		s.exporter = s.export("exporter")
		return s, o
	}
	_, o := begin(t)
	o.settle()
	for n, effect := range o.did() {
		t.Run(fmt.Sprintf("%d %s", n, effect), func(t *testing.T) {
			t.Parallel()
			s, o := begin(t)
			happened := false
			o.fate = func(i int, _ effects.Effect, do func() error) error {
				if i == n {
					happened = true
					remove(t, s.pod)
				}
				return do()
			}
			for range 8 {
				_, _ = o.round()
			}
			if !happened {
				t.Fatal("the effect did not come about again")
			}
			s.garbageCollect()
			o.settle()
			var pods corev1.PodList
			if s.list(&pods); len(pods.Items) > 0 {
				t.Errorf("there is a pod again: %v", pods.Items)
			}
			if got := s.endpoints(s.exporter); got != "" {
				t.Errorf("published is %q", got)
			}
			if get(t, s.exporter); s.exporter.Status.Matched != 0 || s.exporter.Status.Phase != v1alpha1.PhasePending {
				t.Errorf("the exporter still counts it: %+v", s.exporter.Status)
			}
			if a := s.attachment(s.pod); a != nil {
				t.Errorf("the record is left: %+v", a)
			}
		})
	}
}

// refusal is what is expected of a pod that does not come further.
type refusal struct {
	phase        v1alpha1.Phase
	reason, says string
}

// is checks the record, one Warning with the same sentence, and that nothing was loaded.
func (r refusal) is(o *operator, pod *corev1.Pod) {
	o.t.Helper()
	a := o.attachment(pod)
	if got, want := phaseOf(a), string(r.phase)+" "+r.reason; got != want {
		o.t.Fatalf("the pod is %s, not %s", got, want)
	}
	ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, r.says) || !strings.HasSuffix(ready.Message, ".") {
		o.t.Errorf("the pod says %q", ready.Message)
	}
	told := 0
	for _, e := range o.events.with(r.reason) {
		if e.Note == ready.Message && e.Type == corev1.EventTypeWarning {
			told++
		}
	}
	if told == 0 {
		o.t.Errorf("no Event says %q", ready.Message)
	}
	for _, j := range o.container(pod).jvms {
		if j.loads > 0 {
			o.t.Error("an agent was loaded")
		}
	}
	if left := o.annotations(pod); len(left) > 0 {
		o.t.Errorf("the pod was annotated: %v", left)
	}
}
