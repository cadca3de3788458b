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

// told is a member, from words: its name and node, and how far it is. The states
// are new, that it has no record; starting, that it is not ready either; waits, that it was granted nothing yet; shut, that
// nothing can be attached there, and the reason; granted;
// the seconds since it is Exposed, that it is Annotated; old, that it is Annotated
// with another revision, and serves, that it has an endpoint then too; or the reason why it is not further, after the phase that
// it is in and the number of tries, if it is not Discovered and at its first.
func told(words string) member {
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
		members = append(members, told(w))
	}
	return members
}

// Whose turn it is: the canaries first, then as many at once as may be, in all and
// on a node. Who is done, refused, or waits for something, holds no place.
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
		want    string // the names of those whose turn has come
		again   time.Duration
	}{
		"nobody":                              {limits: usual},
		"the first":                           {limits: usual, members: []string{"a n1 waits", "b n1 waits", "c n1 waits"}, want: "a"},
		"its record is there already":         {limits: usual, members: []string{"a n1 waits", "b n1 waits"}, want: "a"},
		"the canary was told":                 {limits: usual, members: []string{"a n1 granted", "b n1 waits"}},
		"the canary is on its way":            {limits: usual, members: []string{"a n1 NotReached", "b n1 waits"}},
		"the canary's JVM starts":             {limits: usual, members: []string{"a n1 JVMStarting", "b n1 waits"}},
		"the canary's slice is not there":     {limits: usual, members: []string{"a n1 EndpointPending", "b n1 waits"}},
		"the canary proves itself":            {limits: usual, members: []string{"a n1 2s", "b n1 waits"}, again: 3 * time.Second},
		"the canary has proven itself":        {limits: usual, members: []string{"a n1 5s", "b n1 waits", "c n2 waits"}, want: "b c"},
		"the canary is refused":               {limits: usual, members: []string{"a n1 NoShell", "b n1 waits", "c n1 waits"}, want: "b"},
		"nobody may attach for the exporter":  {limits: limits(9, 9, 0, 5), members: []string{"a n1 JavaFound NotAuthorized 1", "b n1 waits", "c n1 new"}},
		"what serves is brought up to date":   {limits: limits(9, 9, 0, 5), members: []string{"a n1 JavaFound NotAuthorized 1", "b n1 serves", "c n1 waits"}, want: "b"},
		"nothing can be done to the canary":   {limits: usual, members: []string{"a n1 ExecForbidden", "b n1 waits", "c n1 waits"}, want: "b"},
		"the canary fails":                    {limits: usual, members: []string{"a n1 Staged PortInUse 1", "b n1 waits", "c n1 waits"}},
		"the canary fails again":              {limits: usual, members: []string{"a n1 Staged PortInUse 5", "b n1 waits", "c n1 waits"}},
		"the canary fails again and again":    {limits: usual, members: []string{"a n1 Staged PortInUse 6", "b n1 waits", "c n1 waits"}, want: "b"},
		"the canary's JVM starts for ever":    {limits: usual, members: []string{"a n1 Discovered JVMStarting 6", "b n1 waits"}, want: "b"},
		"who serves nothing comes first":      {limits: limits(2, 9, 0, 5), members: []string{"a n1 serves", "b n1 serves", "c n1 old", "d n1 waits"}, want: "c d"},
		"also as the canary":                  {limits: usual, members: []string{"a n1 serves", "b n1 waits"}, want: "b"},
		"then those that serve, as they are":  {limits: limits(3, 9, 0, 5), members: []string{"a n1 serves", "b n1 serves", "c n1 waits", "d n1 serves"}, want: "c a b"},
		"the canary's container stands":       {limits: usual, members: []string{"a n1 ContainerNotRunning", "b n1 waits"}, want: "b"},
		"the canary was suspended on its way": {limits: usual, members: []string{"a n1 JavaFound Suspended 1", "b n1 waits"}},
		"one of two canaries was halted":      {limits: limits(10, 4, 2, 5), members: []string{"a n1 granted", "b n1 JavaFound RolloutHalted 1", "c n1 waits"}},
		"it was broken, and is mended":        {limits: limits(1, 9, 0, 5), members: []string{"a n1 JavaFound ConfigNotYAML 1", "b n1 waits"}},
		"the canary's pod has failed":         {limits: usual, failed: 1, members: []string{"b n1 waits", "c n1 waits"}},
		"a pod has failed, among others":      {limits: limits(3, 9, 0, 5), failed: 1, members: []string{"b n1 waits", "c n1 waits", "d n1 waits"}, want: "b c"},
		"no canaries":                         {limits: limits(10, 4, 0, 5), members: []string{"a n1 waits", "b n1 waits"}, want: "a b"},
		"two canaries, together":              {limits: limits(10, 4, 2, 5), members: []string{"a n1 waits", "b n1 waits", "c n1 waits"}, want: "a b"},
		"two canaries, one on its way":        {limits: limits(10, 4, 2, 5), members: []string{"a n1 granted", "b n1 waits", "c n1 waits"}, want: "b"},
		"two canaries, one proves itself":     {limits: limits(10, 4, 2, 5), members: []string{"a n1 1s", "b n1 waits", "c n1 waits"}, want: "b", again: 4 * time.Second},
		"two canaries, one is proven":         {limits: limits(10, 4, 2, 5), members: []string{"a n1 9s", "b n1 waits", "c n1 waits"}, want: "b"},
		"two canaries, both are":              {limits: limits(10, 4, 2, 5), members: []string{"a n1 9s", "b n1 5s", "c n1 waits"}, want: "c"},
		"more canaries than may be at once":   {limits: limits(1, 4, 2, 5), members: []string{"a n1 waits", "b n1 waits"}, want: "a"},
		"a change: the canary first":          {limits: usual, members: []string{"a n1 old", "b n1 old"}, want: "a"},
		"a change: the canary was told":       {limits: usual, members: []string{"a n1 regranted", "b n1 old"}},
		"a change: after the canary":          {limits: usual, members: []string{"a n1 1h", "b n1 old", "c n1 old"}, want: "b c"},
		"a pod that comes late":               {limits: usual, members: []string{"a n1 1h", "b n1 1h", "c n1 waits"}, want: "c"},
		"a new pod, before the canary":        {limits: usual, members: []string{"a n1 new", "b n1 new"}},
		"a new pod, after the canary":         {limits: usual, members: []string{"a n1 1h", "b n1 new"}, want: "b"},
		"a pod that is starting":              {limits: usual, members: []string{"a n1 1h", "b n1 starting"}},
		"a new pod, beside those that serve":  {limits: limits(2, 9, 0, 5), members: []string{"a n1 serves", "b n1 new", "c n1 waits"}, want: "c b"},
		"three at once, two of them are":      {limits: limits(3, 9, 0, 5), members: []string{"a n1 granted", "b n1 Busy", "c n1 old", "d n1 waits"}, want: "c"},
		"those that are done hold no place":   {limits: limits(1, 9, 0, 5), members: []string{"a n1 1s", "b n1 NoShell", "c n1 NoJavaProcess", "d n1 waits", "e n1 waits"}, want: "d", again: 4 * time.Second},
		"one on a node":                       {limits: limits(9, 1, 0, 5), members: []string{"a n1 waits", "b n1 waits", "c n2 waits", "d n2 waits"}, want: "a c"},
		"one on a node, where one is":         {limits: limits(9, 1, 0, 5), members: []string{"a n1 granted", "b n1 waits", "c n2 old"}, want: "c"},
		"a full node is no reason to wait":    {limits: limits(2, 1, 1, 5), members: []string{"a n1 1h", "b n2 Busy", "c n2 waits", "d n3 waits"}, want: "d"},
		"halted":                              {limits: usual, members: []string{"a n1 1h", "b n1 waits"}, halt: &v1alpha1.Halt{}},
		"the configuration cannot be used":    {limits: usual, broken: true, members: []string{"a n1 old", "b n1 old"}},
		"nor by new pods":                     {limits: limits(9, 9, 0, 5), broken: true, members: []string{"a n1 old", "b n1 new", "c n1 waits"}},
		"left out, there are no canaries":     {limits: v1alpha1.Rollout{MaxConcurrent: 9, MaxConcurrentPerNode: 9}, members: []string{"a n1 waits", "b n1 waits"}, want: "a b"},
		"two that prove themselves, soonest":  {limits: limits(9, 9, 2, 5), members: []string{"a n1 1s", "b n1 3s"}, again: 2 * time.Second},
	}
	for name, tc := range cases {
		r := &rollout{revision: revision, limits: tc.limits, halt: tc.halt, now: now, failed: tc.failed}
		granted, again := r.grants(those(tc.members), tc.broken)
		var names []string
		for _, m := range granted {
			names = append(names, m.pod.Name)
		}
		if got := strings.Join(names, " "); got != tc.want || again != tc.again {
			t.Errorf("%s: granted are %q, again in %s; want %q, %s", name, got, again, tc.want, tc.again)
		}
	}
}

// A fleet of any size comes through, one grant after the other, and never are more
// at work than may be.
func TestGrantsOfAFleet(t *testing.T) {
	count, seconds := int32(2), int32(5)
	r := &rollout{revision: revision, now: now, limits: v1alpha1.Rollout{
		MaxConcurrent: 5, MaxConcurrentPerNode: 2, Canary: v1alpha1.Canary{Count: &count, MinReadySeconds: &seconds},
	}}
	var members []member
	for i := range 40 {
		members = append(members, told(fmt.Sprintf("pod-%02d n%d old", i, i%4)))
	}
	rounds := 0
	for done := 0; done < len(members); rounds++ {
		granted, _ := r.grants(members, false)
		perNode := map[string]int{}
		for _, m := range granted {
			perNode[m.pod.Spec.NodeName]++
			if perNode[m.pod.Spec.NodeName] > 2 {
				t.Fatalf("in round %d, %d are granted on node %s", rounds, perNode[m.pod.Spec.NodeName], m.pod.Spec.NodeName)
			}
			for i := range members {
				if members[i].pod == m.pod {
					members[i] = told(fmt.Sprintf("%s %s 5s", m.pod.Name, m.pod.Spec.NodeName))
				}
			}
		}
		most := 5
		if rounds == 0 {
			most = 2
		}
		if len(granted) == 0 || len(granted) > most {
			t.Fatalf("in round %d, %d are granted", rounds, len(granted))
		}
		done += len(granted)
	}
	if rounds != 9 { // 2, then 5 at once
		t.Errorf("it took %d rounds", rounds)
	}
}

// A pod counts as updated when it has the revision, or when the rollout does not wait for it.
func TestUpdated(t *testing.T) {
	for state, want := range map[string]bool{
		"new": false, "waits": false, "granted": false, "regranted": false, "old": false,
		"1s": true, "1h": true,
		v1alpha1.ReasonNotReached: false, v1alpha1.ReasonReplaced: false, v1alpha1.ReasonConfigChanged: false,
		v1alpha1.ReasonAgentChanged: false, v1alpha1.ReasonEndpointPending: false, v1alpha1.ReasonJVMStarting: false, v1alpha1.ReasonBusy: false,
		v1alpha1.ReasonNoShell: true, v1alpha1.ReasonConfigRejected: true, v1alpha1.ReasonRuleTooExpensive: true, v1alpha1.ReasonRestartedAfterAttach: true,
		v1alpha1.ReasonPortInUse: true, v1alpha1.ReasonNoJavaProcess: true, v1alpha1.ReasonContainerNotRunning: true,
		v1alpha1.ReasonSuspended: false, v1alpha1.ReasonRolloutHalted: false, v1alpha1.ReasonRolloutPending: false, "JavaFound ConfigNotYAML 1": false,
		// What fails where something is done to the pod is not passed on at once.
		"Staged PortInUse 1": false, "Staged PortInUse 5": false, "Staged PortInUse 6": true,
		"JavaFound NoSpace 5": false, "JavaFound NoSpace 6": true, "Loaded EndpointNotServing 1": false,
		"Discovered ExecForbidden 1": true, "JavaFound NotAuthorized 1": true, "shut NotAuthorized": true, "Discovered JVMStarting 5": false, "Discovered JVMStarting 6": true,
		// Who is not granted anything because nothing can be attached there.
		"shut NoShell": true, "shut NoJavaProcess": true, "shut ContainerRestarting": true, "shut ContainerNotRunning": true,
		"shut NotReached": false, "shut Replaced": false, "shut JVMStarting": false, "JavaFound ContainerRestarting 1": true,
		"Staged MissingModule 1": true, "Staged NobodyKnows 1": false, "Discovered NobodyKnows 1": false, "Pending NobodyKnows 6": true,
	} {
		r := &rollout{revision: revision, now: now}
		m := told("a n1 " + state)
		if got := r.updated(m); got != want {
			t.Errorf("%s: updated is %t", state, got)
		}
		holds := m.attachment != nil && m.attachment.Spec.Revision == revision && !want
		if got := r.underWay(m); got != holds {
			t.Errorf("%s: holds a place is %t", state, got)
		}
	}
	// A change that waits is made later, so that it keeps its place; what it waits for ends.
	waits := told("a n1 JavaFound ContainerRestarting 1")
	waits.attachment.Status.Processes[0].Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9400}
	if r := (&rollout{revision: revision, now: now}); r.updated(waits) || !r.underWay(waits) {
		t.Error("a pod that serves, and whose change waits for the exit of its container, holds no place")
	}
	half := told("a n1 1s") // the record says Annotated only after its last step
	half.attachment.Status.Phase = v1alpha1.PhaseExposed
	if (&rollout{revision: revision}).updated(half) {
		t.Error("a pod that is Exposed is taken for updated")
	}
	for _, reason := range []string{v1alpha1.ReasonConfigRejected, v1alpha1.ReasonRestartedAfterAttach} {
		r := &rollout{revision: revision, resume: "1"}
		m := told("a n1 " + reason)
		if r.updated(m) || !r.underWay(m) {
			t.Errorf("%s: a pod that is to be tried again, since the rollout was resumed, holds no place", reason)
		}
		m.attachment.Status.Resume = "1"
		if !r.updated(m) {
			t.Errorf("%s: a pod that was tried again holds a place", reason)
		}
	}
}

// Each JVM has an endpoint of its own; one at another address than the pod's was
// not asked there.
func TestEndpointsOf(t *testing.T) {
	m := told("app-0 n1 1h")
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
		t.Errorf("published (-want +got):\n%s", diff)
	}
	m.attachment.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.PhaseExposed), Status: metav1.ConditionTrue}}
	m.attachment.Status.Processes = []v1alpha1.JavaProcess{at("10.0.0.1", 1), {}, at("10.0.0.1", 3)}
	want := []v1alpha1.MetricsEndpoint{{Pod: "app-0", Container: "c1", Port: 1}, {Pod: "app-0", Container: "c3", Port: 3}}
	if diff := cmp.Diff(want, m.exposed()); diff != "" {
		t.Errorf("in the status (-want +got):\n%s", diff)
	}
}
