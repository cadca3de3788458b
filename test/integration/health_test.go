package integration

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

const interval = time.Minute

// checked is an Annotated pod, with an operator that checks its endpoints.
func checked(t *testing.T, pod *podBuilder, how func(*story)) (*story, *operator) {
	t.Helper()
	s := &story{cluster: newCluster(t)}
	s.listenEvery = interval
	o := s.operate()
	s.pod = s.run(pod)
	if how != nil {
		how(s)
	}
	s.exporter = s.export("exporter")
	o.settle()
	s.later(interval)
	o.settle() // health check intervals start here
	s.later(interval)
	o.settle()
	o.did()
	s.verbs()
	return s, o
}

// check checks the endpoints that are due, reconciles the JmxAttachment alone, and returns
// the effects and when it is reconciled again.
func (s *story) check(o *operator) ([]string, time.Duration) {
	s.t.Helper()
	o.health.CheckDue(s.t.Context())
	result, err := o.attachments.Reconcile(s.t.Context(), requestFor(s.attachment(s.pod)))
	if err != nil {
		s.t.Fatal(err)
	}
	return o.did(), result.RequeueAfter
}

// nextCheck lets time pass until an endpoint is checked, and reconciles the JmxAttachment
// then; it returns the effects, and how long that took.
func (s *story) nextCheck(o *operator) (did []string, after time.Duration) {
	s.t.Helper()
	for o.count() == 0 {
		if after > time.Hour {
			s.t.Fatal("no endpoint was checked within an hour")
		}
		s.later(interval / 12)
		after += interval / 12
		o.health.CheckDue(s.t.Context())
	}
	did, _ = s.check(o)
	return did, after
}

// An endpoint is checked once in an interval, however often it is reconciled, and
// nothing is written or executed.
func TestHealthChecks(t *testing.T) {
	t.Parallel()
	s, o := checked(t, withWorker(), nil)
	before := s.resourceVersions()
	asked := 0
	for i := range 60 {
		s.later(interval / 6)
		did, again := s.check(o)
		for _, effect := range did {
			if effect != "http health" {
				t.Errorf("unexpected effect %q, want only http health", effect)
			}
			asked++
		}
		if again != 0 {
			t.Errorf("after reconciliation %d, the next one is in %s, want none", i, again)
		}
	}
	if asked < 14 || asked > 20 { // two endpoints in ten intervals, each up to a tenth longer
		t.Errorf("health checks: got %d, want 14 to 20", asked)
	}
	for kind, version := range s.resourceVersions() {
		if before[kind] != version {
			t.Errorf("%s was written", kind)
		}
	}
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations: got %q, want %q", got, "")
	}
}

// A JVM that was replaced in its running container is discovered again.
func TestHealthJVMReplaced(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.Replace(s.container(s.pod), aJVM(javaStartTime+1))
	s.staySilent(o)
	s.containers.Mend()
	o.outlastFor(20)
	s.isAnnotated("9400")
	if got := s.attachment(s.pod).Status.Processes[0].StartTime; got != javaStartTime+1 {
		t.Errorf("start time of the recorded process: got %d, want that of the new JVM", got)
	}
}

// If one of two JVMs is replaced, the other is not changed.
func TestHealthOneJVMReplaced(t *testing.T) {
	t.Parallel()
	s, o := checked(t, withWorker(), nil)
	s.later(time.Hour)
	other := s.jvm(s.pod).Target
	s.containers.Replace(s.containers.Get(s.pod.UID, "worker"), aJVM(javaStartTime+2))
	s.staySilent(o)
	s.containers.Mend()
	o.outlastFor(20)
	s.areAnnotated("9400", "9404")
	if s.jvm(s.pod).Target != other || len(s.jvm(s.pod).Asked) != 1 {
		t.Error("the other JVM was changed")
	}
}

// Another JVM answers on the agent's port: the agent is still loaded, so it is
// reconfigured, and not loaded again.
func TestHealthForeignProcess(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.HealthFault = probe.ErrForeign
	if _, err := o.round(); err != nil {
		t.Fatal(err)
	}
	if got := s.verbs(); got != "status load" {
		t.Errorf("helper operations: got %q, want %q", got, "status load")
	}
	s.containers.Mend()
	o.outlastFor(20)
	s.isAnnotated("9400")
	if loads := s.jvm(s.pod).Loads; loads != 1 {
		t.Errorf("loads of the agent: got %d, want 1", loads)
	}
}

// The agent serves, but the operator cannot reach it: it is inspected in the pod at growing
// intervals, and nothing is written or loaded.
func TestHealthUnreachable(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	before := s.resourceVersions()
	s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("no route"))
	s.containers.Fail(helperapi.VerbStatus, v1alpha1.ReasonExecFailed)
	s.staySilent(o)
	s.verbs()
	for _, longest := range []time.Duration{2 * interval, 4 * interval, 8 * interval, 10 * time.Minute, 10 * time.Minute} {
		if _, after := s.nextCheck(o); after < longest*9/10 || after > longest*13/10 {
			t.Errorf("next health check: got %s, want about %s", after, longest)
		}
		if got := s.verbs(); got != "status" {
			t.Errorf("helper operations: got %q, want %q", got, "status")
		}
	}
	s.isAnnotated("9400")
	for kind, version := range s.resourceVersions() {
		if before[kind] != version {
			t.Errorf("%s was written", kind)
		}
	}
}

// Failed checks that have recovered before the inspection do not regress the pod: the endpoint
// counts as checked from the pod until it answers the operator again.
func TestHealthRecovers(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.HealthFault = errors.New("no route")
	s.staySilent(o)
	s.containers.Mend()
	s.isAnnotated("9400")
	from := func() v1alpha1.CheckedFrom { return s.attachment(s.pod).Status.Processes[0].Endpoint.CheckedFrom }
	if got := from(); got != v1alpha1.CheckedFromPod {
		t.Errorf("checkedFrom: got %s, want %s", got, v1alpha1.CheckedFromPod)
	}
	s.nextCheck(o)
	if got := from(); got != v1alpha1.CheckedFromOperator {
		t.Errorf("checkedFrom after an answer: got %s, want %s", got, v1alpha1.CheckedFromOperator)
	}
	if got := s.verbs(); got != "status" {
		t.Errorf("helper operations: got %q, want %q", got, "status")
	}
}

// An endpoint with a single failed check is not inspected.
func TestHealthBlip(t *testing.T) {
	t.Parallel()
	s, o := checked(t, withWorker(), nil)
	s.later(time.Hour)
	s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("no route"))
	if did, again := s.check(o); len(did) != 2 || again != 0 {
		t.Errorf("got effects %q and the next reconciliation in %s, want the two checks and none", did, again)
	}
	s.containers.Mend()
	s.later(interval)
	if did, again := s.check(o); len(did) != 2 || again != 0 {
		t.Errorf("after the second check: got effects %q and the next reconciliation in %s, want two and none", did, again)
	}
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations: got %q, want %q", got, "")
	}
}

// An endpoint that is not exposed is not checked.
func TestHealthOfWhatIsNotExposed(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*story){
		"the endpoint is not exposed": func(s *story) { s.jvm(s.pod).Fault = fault(v1alpha1.ReasonMissingModule) },
	}
	for name, how := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := checked(t, aPod("app-0"), how)
			for range 3 {
				s.later(time.Hour)
				if did, again := s.check(o); len(did) > 0 || again != 0 {
					t.Errorf("got effects %q and the next reconciliation in %s, want none", did, again)
				}
			}
		})
	}
}

// A stock exporter that stops answering is inspected, and discovered again when its JVM is
// replaced.
func TestHealthOfAdopted(t *testing.T) {
	t.Parallel()
	pod := aPod("app-0")
	pod.jvms["app"][0].Exporter = &helperapi.Exporter{Port: 9999}
	s, o := checked(t, pod, nil)
	s.later(time.Hour)
	s.containers.HealthFault = errors.New("connection refused")
	s.staySilent(o)
	if got := s.verbs(); got != "status probe" {
		t.Errorf("helper operations: got %q, want %q", got, "status probe")
	}
	s.areAnnotated("9999")
	s.containers.Mend()
	s.nextCheck(o) // it answers the operator again
	s.later(time.Hour)
	s.containers.HealthFault = errors.New("connection refused")
	another := aJVM(javaStartTime + 1)
	another.Exporter = &helperapi.Exporter{Port: 9998}
	s.containers.Replace(s.container(s.pod), another)
	s.staySilent(o)
	s.containers.Mend()
	o.outlastFor(20)
	s.areAnnotated("9998")
	if another.Loads > 0 {
		t.Error("an agent was loaded")
	}
}

// staySilent checks the endpoints until their failure is inspected.
func (s *story) staySilent(o *operator) {
	s.t.Helper()
	if _, err := o.round(); err != nil {
		s.t.Fatal(err)
	}
	s.later(interval)
	if _, err := o.round(); err != nil {
		s.t.Fatal(err)
	}
	o.did()
}

// outlastFor reconciles for this many rounds, each when it is due for another reason
// than a health check.
func (o *operator) outlastFor(rounds int) {
	o.t.Helper()
	for range rounds {
		again, err := o.round()
		if err != nil {
			o.t.Fatal(err)
		}
		o.later(min(cmp.Or(again, time.Second), time.Second))
	}
}
