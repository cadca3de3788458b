package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Problems that may resolve by themselves are retried at growing intervals of up to ten
// minutes, and not earlier.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	fails := func(verb helperapi.Verb) func(*story, string) {
		return func(s *story, reason string) { s.containers.Fail(verb, reason) }
	}
	mend := func(s *story) { s.containers.Mend() }
	cases := map[string]struct {
		wrong func(*story, string)
		mend  func(*story)
		want  v1alpha1.Phase
		waits bool // expected to resolve: no failure, no Event
	}{
		v1alpha1.ReasonNoJavaProcess: {
			wrong: func(s *story, _ string) { s.container(s.pod).JVMs = nil },
			mend:  func(s *story) { s.container(s.pod).JVMs = []*jvm{aJVM(javaStartTime)} },
			want:  v1alpha1.PhaseDiscovered,
		},
		v1alpha1.ReasonPortInUse: {
			wrong: func(s *story, _ string) { s.container(s.pod).Busy = []int32{port} },
			mend:  func(s *story) { s.container(s.pod).Busy = nil },
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
		v1alpha1.ReasonEndpointNotServing:     {func(s *story, reason string) { s.containers.ProbeFault = fault(reason) }, mend, v1alpha1.PhaseLoaded, false},
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
				t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, want)
			}
			// Retries happen when they are due, and only then.
			for try := 1; try <= 12; try++ {
				limit := min(time.Second<<(try-1), 10*time.Minute) // plus a tenth, to whole seconds
				if again < limit || again > min(limit*11/10, 10*time.Minute)+time.Second {
					t.Errorf("retry interval after try %d: got %s", try, again)
				}
				if count := s.attachment(s.pod).Status.Attempt.Count; int(count) != try {
					t.Errorf("after try %d: got attempt count %d", try, count)
				}
				o.did()
				s.later(again - time.Millisecond)
				if _, err := o.round(); err != nil || o.count() > 0 {
					t.Errorf("effects before the retry is due: got %q and error %v, want none", o.did(), err)
				}
				s.later(time.Millisecond)
				_, _ = o.round()
				again, _ = o.round() // the exporter updates its summary
			}
			want := 1
			if tc.waits {
				want = 0
			}
			if events := o.events.with(reason); len(events) != want {
				t.Errorf("%s Events: got %v, want %d", reason, events, want)
			}

			tc.mend(s)
			o.outlast()
			s.isAnnotated("9400")
			if s.attachment(s.pod).Status.Attempt != nil {
				t.Error("the attempt was not reset")
			}
		})
	}
}
