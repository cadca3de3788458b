package exporter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const revision = "new"

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// memberOf parses a member from words: its name, its node, and its state. The states
// are new, without a record; starting, also not ready; waits, without a grant; shut, with the
// reason for which nothing can be attached; granted;
// the seconds since it was Exposed, which is Annotated; old, Annotated
// with another revision; serves, old with an endpoint; or the reason of its current failure, after
// the phase and before the number of tries, by default Discovered and the first.
func memberOf(words string) member {
	fields := strings.Fields(words)
	name, node, state := fields[0], fields[1], fields[2]
	pod := &corev1.Pod{}
	pod.Name, pod.Spec.NodeName = name, node
	if state == "new" || state == "starting" {
		if state == "new" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
		}
		return member{pod: pod}
	}
	a := &v1alpha1.JmxAttachment{}
	a.Spec.Pod.Name, a.Spec.Revision, a.Status.Revision = name, revision, revision
	loaded := func(since time.Duration) {
		a.Status.Phase = v1alpha1.PhaseAnnotated
		a.Status.Conditions = []metav1.Condition{{
			Type: string(v1alpha1.PhaseExposed), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-since)),
		}}
	}
	age, err := time.ParseDuration(state)
	switch {
	case err == nil:
		loaded(age)
	case state == "waits":
		a.Spec.Revision, a.Status.Revision = "", ""
		a.Status.Phase, a.Status.Reason = v1alpha1.PhaseJavaFound, v1alpha1.ReasonRolloutPending
	case state == "shut":
		a.Spec.Revision, a.Status.Revision = "", ""
		a.Status.Phase, a.Status.Reason = v1alpha1.PhaseDiscovered, fields[3]
		if fields[3] == v1alpha1.ReasonContainerRestarting {
			a.Status.Phase = v1alpha1.PhaseJavaFound
		}
		a.Status.Attempt = &v1alpha1.Attempt{Count: 1}
	case state == "granted":
		a.Status.Revision = ""
	case state == "regranted":
		loaded(time.Hour)
		a.Status.Revision = "old"
	case state == "old", state == "serves":
		loaded(time.Hour)
		a.Spec.Revision, a.Status.Revision = "old", "old"
		if state == "serves" {
			pod.Status.PodIP = "10.0.0.1"
			a.Status.Processes = []v1alpha1.JavaProcess{{Endpoint: &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400}}}
		}
	default:
		a.Status.Phase, a.Status.Reason = v1alpha1.PhaseDiscovered, state
		a.Status.Attempt = &v1alpha1.Attempt{Count: 1}
		if len(fields) == 5 {
			a.Status.Phase, a.Status.Reason = v1alpha1.Phase(state), fields[3]
			if _, err := fmt.Sscan(fields[4], &a.Status.Attempt.Count); err != nil {
				panic(err)
			}
		}
	}
	if len(a.Status.Processes) == 0 {
		a.Status.Processes = []v1alpha1.JavaProcess{{}}
	}
	a.Status.Processes[0].Phase, a.Status.Processes[0].Reason = a.Status.Phase, a.Status.Reason
	return member{pod: pod, attachment: a}
}

func those(words []string) []member {
	var members []member
	for _, w := range words {
		members = append(members, memberOf(w))
	}
	return members
}

// The pods that get a slot: the canaries first, then as many as the limits allow, in all and
// per node. Pods that are done, refused, or waiting for an event hold no slot.
func TestGrants(t *testing.T) {
	limits := func(concurrent, perNode, canaries, seconds int32) v1alpha1.Rollout {
		return v1alpha1.Rollout{
			MaxConcurrent: concurrent, MaxConcurrentPerNode: perNode,
			Canary: v1alpha1.Canary{Count: &canaries, MinReadySeconds: &seconds},
		}
	}
	usual := limits(10, 4, 1, 5)
	cases := map[string]struct {
		limits  v1alpha1.Rollout
		members []string
		broken  bool
		failed  int32
		halt    *v1alpha1.Halt
		want    string // the names of the granted pods
		again   time.Duration
	}{
		"there are no pods":                                    {limits: usual},
		"the first pod is the canary":                          {limits: usual, members: []string{"a n1 waits", "b n1 waits", "c n1 waits"}, want: "a"},
		"the canary has a record already":                      {limits: usual, members: []string{"a n1 waits", "b n1 waits"}, want: "a"},
		"the canary is granted":                                {limits: usual, members: []string{"a n1 granted", "b n1 waits"}},
		"the canary is in progress":                            {limits: usual, members: []string{"a n1 NotReached", "b n1 waits"}},
		"the canary's JVM starts":                              {limits: usual, members: []string{"a n1 JVMStarting", "b n1 waits"}},
		"the canary's EndpointSlice is pending":                {limits: usual, members: []string{"a n1 EndpointPending", "b n1 waits"}},
		"the canary is not proven":                             {limits: usual, members: []string{"a n1 2s", "b n1 waits"}, again: 3 * time.Second},
		"the canary is proven":                                 {limits: usual, members: []string{"a n1 5s", "b n1 waits", "c n2 waits"}, want: "b c"},
		"the canary is refused":                                {limits: usual, members: []string{"a n1 NoShell", "b n1 waits", "c n1 waits"}, want: "b"},
		"the requester may not attach":                         {limits: limits(9, 9, 0, 5), members: []string{"a n1 JavaFound NotAuthorized 1", "b n1 waits", "c n1 new"}},
		"the requester may not attach, and another pod serves": {limits: limits(9, 9, 0, 5), members: []string{"a n1 JavaFound NotAuthorized 1", "b n1 serves", "c n1 waits"}, want: "b"},
		"the canary cannot be attached to":                     {limits: usual, members: []string{"a n1 ExecForbidden", "b n1 waits", "c n1 waits"}, want: "b"},
		"the canary fails":                                     {limits: usual, members: []string{"a n1 Staged PortInUse 1", "b n1 waits", "c n1 waits"}},
		"the canary fails again":                               {limits: usual, members: []string{"a n1 Staged PortInUse 5", "b n1 waits", "c n1 waits"}},
		"the canary fails too often":                           {limits: usual, members: []string{"a n1 Staged PortInUse 6", "b n1 waits", "c n1 waits"}, want: "b"},
		"the canary's JVM never finishes starting":             {limits: usual, members: []string{"a n1 Discovered JVMStarting 6", "b n1 waits"}, want: "b"},
		"pods without endpoints come first":                    {limits: limits(2, 9, 0, 5), members: []string{"a n1 serves", "b n1 serves", "c n1 old", "d n1 waits"}, want: "c d"},
		"a pod without an endpoint is the canary":              {limits: usual, members: []string{"a n1 serves", "b n1 waits"}, want: "b"},
		"pods with endpoints come last, in order":              {limits: limits(3, 9, 0, 5), members: []string{"a n1 serves", "b n1 serves", "c n1 waits", "d n1 serves"}, want: "c a b"},
		"the canary's container does not run":                  {limits: usual, members: []string{"a n1 ContainerNotRunning", "b n1 waits"}, want: "b"},
		"the canary was suspended in progress":                 {limits: usual, members: []string{"a n1 JavaFound Suspended 1", "b n1 waits"}},
		"one of two canaries was halted":                       {limits: limits(10, 4, 2, 5), members: []string{"a n1 granted", "b n1 JavaFound RolloutHalted 1", "c n1 waits"}},
		"the configuration was invalid, and is corrected":      {limits: limits(1, 9, 0, 5), members: []string{"a n1 JavaFound ConfigNotYAML 1", "b n1 waits"}},
		"the canary's pod failed":                              {limits: usual, failed: 1, members: []string{"b n1 waits", "c n1 waits"}},
		"a pod failed, among others":                           {limits: limits(3, 9, 0, 5), failed: 1, members: []string{"b n1 waits", "c n1 waits", "d n1 waits"}, want: "b c"},
		"there are no canaries":                                {limits: limits(10, 4, 0, 5), members: []string{"a n1 waits", "b n1 waits"}, want: "a b"},
		"two canaries are granted together":                    {limits: limits(10, 4, 2, 5), members: []string{"a n1 waits", "b n1 waits", "c n1 waits"}, want: "a b"},
		"one of two canaries is in progress":                   {limits: limits(10, 4, 2, 5), members: []string{"a n1 granted", "b n1 waits", "c n1 waits"}, want: "b"},
		"one of two canaries is not proven":                    {limits: limits(10, 4, 2, 5), members: []string{"a n1 1s", "b n1 waits", "c n1 waits"}, want: "b", again: 4 * time.Second},
		"one of two canaries is proven":                        {limits: limits(10, 4, 2, 5), members: []string{"a n1 9s", "b n1 waits", "c n1 waits"}, want: "b"},
		"both canaries are proven":                             {limits: limits(10, 4, 2, 5), members: []string{"a n1 9s", "b n1 5s", "c n1 waits"}, want: "c"},
		"there are more canaries than slots":                   {limits: limits(1, 4, 2, 5), members: []string{"a n1 waits", "b n1 waits"}, want: "a"},
		"the canary is changed first":                          {limits: usual, members: []string{"a n1 old", "b n1 old"}, want: "a"},
		"the canary is granted a change":                       {limits: usual, members: []string{"a n1 regranted", "b n1 old"}},
		"the canary is changed and proven":                     {limits: usual, members: []string{"a n1 1h", "b n1 old", "c n1 old"}, want: "b c"},
		"a pod is created later":                               {limits: usual, members: []string{"a n1 1h", "b n1 1h", "c n1 waits"}, want: "c"},
		"a pod without a record is no canary":                  {limits: usual, members: []string{"a n1 new", "b n1 new"}},
		"a pod without a record follows the canary":            {limits: usual, members: []string{"a n1 1h", "b n1 new"}, want: "b"},
		"a pod is starting":                                    {limits: usual, members: []string{"a n1 1h", "b n1 starting"}},
		"a pod without a record comes before serving pods":     {limits: limits(2, 9, 0, 5), members: []string{"a n1 serves", "b n1 new", "c n1 waits"}, want: "c b"},
		"two of three slots are in use":                        {limits: limits(3, 9, 0, 5), members: []string{"a n1 granted", "b n1 Busy", "c n1 old", "d n1 waits"}, want: "c"},
		"pods that are done hold no slot":                      {limits: limits(1, 9, 0, 5), members: []string{"a n1 1s", "b n1 NoShell", "c n1 NoJavaProcess", "d n1 waits", "e n1 waits"}, want: "d", again: 4 * time.Second},
		"one pod per node is allowed":                          {limits: limits(9, 1, 0, 5), members: []string{"a n1 waits", "b n1 waits", "c n2 waits", "d n2 waits"}, want: "a c"},
		"one pod per node is allowed, and a node is in use":    {limits: limits(9, 1, 0, 5), members: []string{"a n1 granted", "b n1 waits", "c n2 old"}, want: "c"},
		"a full node does not delay another":                   {limits: limits(2, 1, 1, 5), members: []string{"a n1 1h", "b n2 Busy", "c n2 waits", "d n3 waits"}, want: "d"},
		"the rollout is halted":                                {limits: usual, members: []string{"a n1 1h", "b n1 waits"}, halt: &v1alpha1.Halt{}},
		"the configuration is invalid":                         {limits: usual, broken: true, members: []string{"a n1 old", "b n1 old"}},
		"the configuration is invalid, and new pods exist":     {limits: limits(9, 9, 0, 5), broken: true, members: []string{"a n1 old", "b n1 new", "c n1 waits"}},
		"canaries are not set":                                 {limits: v1alpha1.Rollout{MaxConcurrent: 9, MaxConcurrentPerNode: 9}, members: []string{"a n1 waits", "b n1 waits"}, want: "a b"},
		"the canary that is proven first counts":               {limits: limits(9, 9, 2, 5), members: []string{"a n1 1s", "b n1 3s"}, again: 2 * time.Second},
	}
	for name, tc := range cases {
		r := &rollout{revision: revision, limits: tc.limits, halt: tc.halt, now: now, failed: tc.failed}
		granted, again := r.grants(those(tc.members), tc.broken)
		var names []string
		for _, m := range granted {
			names = append(names, m.pod.Name)
		}
		if got := strings.Join(names, " "); got != tc.want || again != tc.again {
			t.Errorf("%s: got grants %q, next in %s; want %q, %s", name, got, again, tc.want, tc.again)
		}
	}
}

// A fleet of any size is completed, grant by grant, and never exceeds the limits.
func TestGrantsOfAFleet(t *testing.T) {
	count, seconds := int32(2), int32(5)
	r := &rollout{revision: revision, now: now, limits: v1alpha1.Rollout{
		MaxConcurrent: 5, MaxConcurrentPerNode: 2, Canary: v1alpha1.Canary{Count: &count, MinReadySeconds: &seconds},
	}}
	var members []member
	for i := range 40 {
		members = append(members, memberOf(fmt.Sprintf("pod-%02d n%d old", i, i%4)))
	}
	rounds := 0
	for done := 0; done < len(members); rounds++ {
		granted, _ := r.grants(members, false)
		perNode := map[string]int{}
		for _, m := range granted {
			perNode[m.pod.Spec.NodeName]++
			if perNode[m.pod.Spec.NodeName] > 2 {
				t.Fatalf("round %d: %d pods are granted on node %s", rounds, perNode[m.pod.Spec.NodeName], m.pod.Spec.NodeName)
			}
			for i := range members {
				if members[i].pod == m.pod {
					members[i] = memberOf(fmt.Sprintf("%s %s 5s", m.pod.Name, m.pod.Spec.NodeName))
				}
			}
		}
		most := 5
		if rounds == 0 {
			most = 2
		}
		if len(granted) == 0 || len(granted) > most {
			t.Fatalf("round %d: got %d grants", rounds, len(granted))
		}
		done += len(granted)
	}
	if rounds != 9 { // 2, then 5 at once
		t.Errorf("rounds: got %d, want 9", rounds)
	}
}

// A pod counts as updated if it has the revision, or if the rollout does not wait for it.
func TestUpdated(t *testing.T) {
	for state, want := range map[string]bool{
		"new": false, "waits": false, "granted": false, "regranted": false, "old": false,
		"1s": true, "1h": true,
		v1alpha1.ReasonNotReached: false, v1alpha1.ReasonReplaced: false, v1alpha1.ReasonConfigChanged: false,
		v1alpha1.ReasonAgentChanged: false, v1alpha1.ReasonEndpointPending: false, v1alpha1.ReasonJVMStarting: false, v1alpha1.ReasonBusy: false,
		v1alpha1.ReasonNoShell: true, v1alpha1.ReasonConfigRejected: true, v1alpha1.ReasonRuleTooExpensive: true, v1alpha1.ReasonRestartedAfterAttach: true,
		v1alpha1.ReasonPortInUse: true, v1alpha1.ReasonNoJavaProcess: true, v1alpha1.ReasonContainerNotRunning: true,
		v1alpha1.ReasonSuspended: false, v1alpha1.ReasonRolloutHalted: false, v1alpha1.ReasonRolloutPending: false, "JavaFound ConfigNotYAML 1": false,
		// A failure of the attach itself delays the rollout at first.
		"Staged PortInUse 1": false, "Staged PortInUse 5": false, "Staged PortInUse 6": true,
		"JavaFound NoSpace 5": false, "JavaFound NoSpace 6": true, "Loaded EndpointNotServing 1": false,
		"Discovered ExecForbidden 1": true, "JavaFound NotAuthorized 1": true, "shut NotAuthorized": true, "Discovered JVMStarting 5": false, "Discovered JVMStarting 6": true,
		// Not granted, because nothing can be attached there.
		"shut NoShell": true, "shut NoJavaProcess": true, "shut ContainerRestarting": true, "shut ContainerNotRunning": true,
		"shut NotReached": false, "shut Replaced": false, "shut JVMStarting": false, "JavaFound ContainerRestarting 1": true,
		"Staged MissingModule 1": true, "Staged NobodyKnows 1": false, "Discovered NobodyKnows 1": false, "Pending NobodyKnows 6": true,
	} {
		r := &rollout{revision: revision, now: now}
		m := memberOf("a n1 " + state)
		if got := r.updated(m); got != want {
			t.Errorf("%s: updated: got %t, want %t", state, got, want)
		}
		holds := m.attachment != nil && m.attachment.Spec.Revision == revision && !want
		if got := r.underWay(m); got != holds {
			t.Errorf("%s: underWay: got %t, want %t", state, got, holds)
		}
	}
	// A delayed change is still to be made, so it keeps its slot; the delay ends.
	waits := memberOf("a n1 JavaFound ContainerRestarting 1")
	waits.attachment.Status.Processes[0].Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400}
	if r := (&rollout{revision: revision, now: now}); r.updated(waits) || !r.underWay(waits) {
		t.Error("a serving pod whose change waits for the exit of its container holds no slot")
	}
	half := memberOf("a n1 1s") // the status is Annotated only after the last step
	half.attachment.Status.Phase = v1alpha1.PhaseExposed
	if (&rollout{revision: revision}).updated(half) {
		t.Error("a pod that is Exposed counts as updated")
	}
	for _, reason := range []string{v1alpha1.ReasonConfigRejected, v1alpha1.ReasonRestartedAfterAttach} {
		r := &rollout{revision: revision, resume: "1"}
		m := memberOf("a n1 " + reason)
		if r.updated(m) || !r.underWay(m) {
			t.Errorf("%s: a pod that is retried after resuming holds no slot", reason)
		}
		m.attachment.Status.Resume = "1"
		if !r.updated(m) {
			t.Errorf("%s: a pod that was retried holds a slot", reason)
		}
	}
}

// Each JVM has its own endpoint; an endpoint at an earlier address of the pod was not
// probed at the current one.
func TestEndpointsOf(t *testing.T) {
	m := memberOf("app-0 n1 1h")
	m.pod.Status.PodIP = "10.0.0.1"
	at := func(address string, port int32) v1alpha1.JavaProcess {
		return v1alpha1.JavaProcess{Container: fmt.Sprint("c", port), Endpoint: &v1alpha1.Endpoint{Address: address, Port: port}}
	}
	m.attachment.Status.Processes = []v1alpha1.JavaProcess{at("10.0.0.1", 1), {}, at("10.0.0.9", 2), at("10.0.0.1", 3)}
	var got []int32
	for _, e := range endpointsOf(m) {
		got = append(got, e.port)
	}
	if diff := cmp.Diff([]int32{1, 3}, got); diff != "" {
		t.Errorf("published ports (-want +got):\n%s", diff)
	}
	m.attachment.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.PhaseExposed), Status: metav1.ConditionTrue}}
	m.attachment.Status.Processes = []v1alpha1.JavaProcess{at("10.0.0.1", 1), {}, at("10.0.0.1", 3)}
	want := []v1alpha1.MetricsEndpoint{{Pod: "app-0", Container: "c1", Port: 1}, {Pod: "app-0", Container: "c3", Port: 3}}
	if diff := cmp.Diff(want, m.exposed()); diff != "" {
		t.Errorf("metricsEndpoints (-want +got):\n%s", diff)
	}
}
