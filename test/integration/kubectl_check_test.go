package integration

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	reached "banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The JVMs of a pod judge a configuration, each with what it found. The containers are
// scripted, since this API server has no kubelet; what the user may not do, it refuses.
func TestKubectlCheckInPod(t *testing.T) {
	t.Parallel()
	s := aShop(t, "check")
	s.fill()
	record := s.records["payroll-0"]
	for i := range record.Status.Processes {
		record.Status.Processes[i].ConfigSHA256 = strings.Repeat("0", 64)
	}
	if err := admin.Status().Update(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app", "worker"} {
		s.containers.Start(s.pods["payroll-0"].UID, name).Helper = true
	}
	k := aKubectl(t, "checker", s.namespace, viewer()...)
	k.stdin = "rules: []\n"
	transcript := func(args ...string) string {
		args = append([]string{"check", "-n", s.namespace, "-f", "-"}, args...)
		return strings.NewReplacer("-n "+s.namespace, "-n shop", "namespace "+s.namespace, "namespace shop").Replace(k.transcript(args...))
	}
	compare(t, "check-forbidden", transcript("--pod", "payroll-0"))
	k.fails([]string{"check", "-f", "-", "--container", "app"}, "--container needs --pod")

	k.dial = func(*reached.Cluster) transport.Dialer { return transport.NewPresent(s.containers.Streams()) }
	compare(t, "check-older", transcript("--pod", "payroll-0", "--container", "worker"))
	accepted := &helperapi.Judgement{Millis: new(int64(38)), CPUMillis: new(int64(31)), Bytes: new(int64(5 << 20)), Series: new(int64(412)), MBeans: new(int64(96))}
	s.containers.Judgements = map[string]*helperapi.Judgement{
		"app": accepted,
		"worker": {
			Reason:  "RuleTooExpensive",
			Message: "Rule 2 (.*.*.*x) is switched off: it costs too much CPU or memory. Simplify the pattern, and what is made of it; the other rules are served.",
			Millis:  new(int64(71)), CPUMillis: new(int64(64)), Bytes: new(int64(6 << 20)), Series: new(int64(310)), MBeans: new(int64(96)),
			Skipped: &helperapi.Skipped{Count: 3, Domain: "com.example", Reason: "AttributeUnreadable"},
		},
	}
	compare(t, "check-pod", transcript("--pod", "payroll-0"))
	for _, request := range s.containers.Checked {
		if request.MemoryHeadroom != helperapi.DefaultMemoryHeadroom {
			t.Errorf("the check was to leave %d bytes of memory", request.MemoryHeadroom)
		}
	}
	if len(s.containers.Checked) != 2 {
		t.Errorf("%d JVMs judged", len(s.containers.Checked))
	}
	compare(t, "check-pod-json", transcript("--pod", "payroll-0", "-o", "json"))
	s.containers.Restored = fault(string(helperapi.ReasonAgentNotAnswering))
	compare(t, "check-pod-unrestored", transcript("--pod", "payroll-0", "--container", "app"))
	s.containers.Restored = nil
	s.containers.Judgements["app"] = &helperapi.Judgement{Reason: helperapi.JudgementTrialIncomplete, Message: "The collection did not end within the 3 seconds of a trial."}
	compare(t, "check-pod-incomplete", transcript("--pod", "payroll-0", "--container", "app"))
	for _, reason := range []string{v1alpha1.ReasonHelperFailed, string(helperapi.ReasonStagingIncomplete), v1alpha1.ReasonAgentFailed} {
		s.containers.Faults[helperapi.VerbCheck] = fault(reason)
		compare(t, "check-pod-"+strings.ToLower(reason), transcript("--pod", "payroll-0", "--container", "app"))
	}
	delete(s.containers.Faults, helperapi.VerbCheck)
	s.containers.Judgements["app"] = accepted
	compare(t, "check-pod-accepted", transcript("--pod", "payroll-0", "--container", "app", "-o", "yaml"))
	compare(t, "check-pod-none", transcript("--pod", "payroll-0", "--container", "none")+transcript("--pod", "payroll-1")+transcript("--pod", "none"))
}
