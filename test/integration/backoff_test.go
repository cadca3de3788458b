package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

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
