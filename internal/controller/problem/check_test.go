package problem

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podlog"
)

// scripted are logs that name themselves, and count reads.
type scripted struct {
	err   error
	reads int
}

func (s *scripted) Tail(_ context.Context, pod types.NamespacedName, container string, lines int32, previous bool) (string, error) {
	s.reads++
	if s.err != nil {
		return "", s.err
	}
	return fmt.Sprintf("%s/%s: %d lines, previous: %t", pod.Name, container, lines, previous), nil
}

// checks are those of one exporter, whose status is written after each.
type checks struct {
	*v1alpha1.PrometheusJmxExporter
	logs   *scripted
	reader *podlog.Reader
	clock  *testclock.FakePassiveClock
}

func newChecks(lines int32) *checks {
	c := &checks{PrometheusJmxExporter: exporter(), logs: &scripted{}, clock: testclock.NewFakePassiveClock(now)}
	c.Generation, c.Spec.Alerts.LogLines = 1, lines
	c.restartOperator()
	return c
}

// restartOperator forgets all but the status.
func (c *checks) restartOperator() { c.reader = podlog.NewReader(c.logs, c.clock) }

// check returns the entry of the pod.
func (c *checks) check(pod corev1.Pod) v1alpha1.ProblemPod {
	found := Find(c.PrometheusJmxExporter, []corev1.Pod{pod}, c.clock.Now())
	found.addLogs(c.reader, c.PrometheusJmxExporter)
	c.Status.ProblemPods, c.Status.ObservedGeneration = found.Entries, c.Generation
	return found.Entries[0]
}

// read reads the logs that were asked for.
func (c *checks) read(t *testing.T) {
	t.Helper()
	for _, pod := range c.reader.Unread() {
		if _, err := c.reader.Reconcile(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
}

func crashing(restarts int32) corev1.Pod {
	pod := aPod(corev1.PodRunning, is("app", restarts, waits(crashLoop, backOff), exits(1, "Error", ago(9))))
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://1"
	return pod
}

const (
	log      = "app-0/app: 3 lines, previous: false"
	previous = "app-0/app: 3 lines, previous: true"
)

// Logs are read once for each restart, with the requested number of lines.
func TestLogsAreReadOnce(t *testing.T) {
	c := newChecks(3)
	look := func(pod corev1.Pod, reads int, log, previous string) {
		t.Helper()
		c.check(pod)
		c.read(t)
		if got := c.check(pod); c.logs.reads != reads || got.Log != log || got.PreviousLog != previous {
			t.Errorf("got %d reads, log %q and previous log %q", c.logs.reads, got.Log, got.PreviousLog)
		}
	}
	look(crashing(0), 1, log, "")
	look(crashing(0), 1, log, "")
	look(crashing(1), 3, log, previous)
	look(crashing(1), 3, log, previous)
	c.restartOperator()
	look(crashing(1), 3, log, previous)

	c.Generation, c.Spec.Alerts.LogLines = 2, 4
	look(crashing(1), 5, strings.Replace(log, "3", "4", 1), strings.Replace(previous, "3", "4", 1))
	c.Generation, c.Spec.Alerts.LogLines = 3, 0
	look(crashing(1), 5, "", "")

	c.Generation, c.Spec.Alerts.LogLines = 4, 3
	never := aPod(corev1.PodPending, is("app", 0, waits(errImagePull, notFound)))
	look(never, 5, "", "")
}

// An entry is always that of one run: it has its log once that is known, and none before.
func TestLogsThatAreNotKnownYet(t *testing.T) {
	c := newChecks(3)
	expect := func(when string, pod corev1.Pod, log string) {
		t.Helper()
		got := c.check(pod)
		if want := pod.Status.ContainerStatuses[0].RestartCount; got.RestartCount != want || got.Log != log {
			t.Errorf("%s: got restart %d and log %q, want %d and %q", when, got.RestartCount, got.Log, want, log)
		}
	}
	expect("a new problem", crashing(1), "")
	c.read(t)
	expect("its log is known", crashing(1), log)
	expect("a restart", crashing(2), "")
	expect("another one", crashing(3), "")
	c.restartOperator()
	expect("the operator restarted", crashing(3), "")
	c.read(t)
	expect("the log is known", crashing(3), log)
}

// A change of the spec takes no log from an entry, also if the kubelet does not answer any more;
// what it asks for is read.
func TestLogsAfterChanges(t *testing.T) {
	c := newChecks(3)
	expect := func(when, log string) {
		t.Helper()
		if got := c.check(crashing(0)).Log; got != log {
			t.Errorf("%s: got log %q, want %q", when, got, log)
		}
	}
	c.check(crashing(0))
	c.read(t)
	expect("the log is known", log)
	c.Generation, c.Spec.Rollout.MaxConcurrent = 2, 7
	expect("the rollout changed", log)
	c.read(t)
	expect("the log was read again", log)

	c.Generation, c.Spec.Alerts.LogLines = 3, 4
	expect("other lines are asked for", log)
	expect("they are not known yet", log)
	c.read(t)
	four := strings.Replace(log, "3", "4", 1)
	expect("they are known", four)
	expect("the status has them", four)

	c.Generation, c.Spec.Alerts.LogLines = 4, 5
	c.logs.err = context.DeadlineExceeded
	expect("others are asked for", four)
	c.read(t)
	expect("the kubelet hangs", four)
}

// An empty log is read once.
func TestEmptyLogs(t *testing.T) {
	c := newChecks(3)
	empty := &empty{}
	c.reader = podlog.NewReader(empty, c.clock)
	for range 3 {
		c.check(crashing(0))
		c.read(t)
	}
	if empty.reads != 1 {
		t.Errorf("reads of an empty log: got %d, want 1", empty.reads)
	}
}

// empty are logs without a line.
type empty struct{ reads int }

func (e *empty) Tail(context.Context, types.NamespacedName, string, int32, bool) (string, error) {
	e.reads++
	return "", nil
}

// A right that was granted is no longer reported as missing, also if the kubelet does not
// answer.
func TestGrantedAndUnanswered(t *testing.T) {
	c := newChecks(3)
	c.logs.err = podlog.ErrForbidden
	c.check(crashing(1))
	c.read(t)
	if got := c.check(crashing(1)); !strings.Contains(got.Message, "pods/log") {
		t.Fatalf("without the right: got message %q", got.Message)
	}
	c.logs.err = context.DeadlineExceeded
	c.clock.SetTime(now.Add(10 * time.Minute))
	c.check(crashing(1))
	c.read(t)
	if got := c.check(crashing(1)); strings.Contains(got.Message, "pods/log") {
		t.Errorf("with the right, and no answer: got message %q", got.Message)
	}
}

// A missing right to read logs is reported once, also while it is asked for again.
func TestForbiddenLogs(t *testing.T) {
	c := newChecks(3)
	c.logs.err = fmt.Errorf("as the server says: %w", podlog.ErrForbidden)
	c.check(crashing(1))
	c.read(t)
	expect := func(when string, forbidden bool, reads int) {
		t.Helper()
		got := c.check(crashing(1))
		if says := strings.Count(got.Message, "pods/log"); says > 1 || says == 1 != forbidden || (got.Log == "") != forbidden || len(got.Message) > maxMessage {
			t.Errorf("%s: got message %q and log %q", when, got.Message, got.Log)
		}
		if c.logs.reads != reads {
			t.Errorf("%s: got %d reads, want %d", when, c.logs.reads, reads)
		}
		c.read(t)
	}
	expect("the right is missing", true, 1)
	found := Find(c.PrometheusJmxExporter, []corev1.Pod{crashing(1)}, now)
	if found.addLogs(c.reader, c.PrometheusJmxExporter); found.Again != 10*time.Minute {
		t.Errorf("next check: got %s, want 10m", found.Again)
	}
	c.restartOperator()
	expect("the operator restarted", true, 1)
	expect("it was refused again", true, 2)
	c.logs.err = nil
	c.clock.SetTime(now.Add(10 * time.Minute))
	expect("it is asked for again", true, 2)
	expect("the right was granted", false, 4)
}

// announced are the recorded Events.
type announced []string

func (e *announced) Eventf(_, related runtime.Object, eventType, reason, action, note string, args ...any) {
	*e = append(*e, fmt.Sprintf("%s %s %s %s: %s", eventType, reason, action, related.(*corev1.ObjectReference).Name, fmt.Sprintf(note, args...)))
}

// The end of the failed instance's log is an Event of its own, once for each problem, when it
// is known.
func TestAnnounceLog(t *testing.T) {
	entry := func(reason, log, previous string) []v1alpha1.ProblemPod {
		return []v1alpha1.ProblemPod{{Pod: "a", UID: "a", Container: "app", Reason: reason, Log: log, PreviousLog: previous}}
	}
	for name, tc := range map[string]struct {
		before, after []v1alpha1.ProblemPod
		want          []string
	}{
		"it waits for its restart":      {entry(crashLoop, "", ""), entry(crashLoop, "out", ""), []string{"Pod a, container app, the end of its log:\nout"}},
		"it runs again":                 {entry(crashLoop, "", ""), entry(crashLoop, "starting", "out"), []string{"Pod a, container app, the end of its log:\nout"}},
		"with the problem":              {nil, entry(crashLoop, "out", ""), []string{"Pod a, container app: CrashLoopBackOff", "Pod a, container app, the end of its log:\nout"}},
		"another problem, the same log": {entry("Error", "out", ""), entry(crashLoop, "out", ""), []string{"Pod a, container app: CrashLoopBackOff"}},
		"the next restart":              {entry(crashLoop, "out", ""), entry(crashLoop, "out again", ""), nil},
		"none":                          {entry(crashLoop, "", ""), entry(crashLoop, "", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got announced
			Announce(&got, exporter(), tc.before, tc.after)
			for i := range got {
				_, got[i], _ = strings.Cut(got[i], " a: ")
			}
			if diff := cmp.Diff(announced(tc.want), got); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

// An Event holds 1024 characters: the last lines that fit are there, or the end of the last one.
func TestAnnounceLongLog(t *testing.T) {
	const line, last = "\tat com.example.Main.main(Main.java:1)\n", "Caused by: 100% out of ü"
	for log, want := range map[string]string{
		strings.Repeat(line, 100) + last: "the end of its log:\n" + line,
		strings.Repeat("ü", 4000) + last: "the end of its log:\nü",
	} {
		var got announced
		Announce(&got, exporter(), nil, []v1alpha1.ProblemPod{{Pod: "a", Container: "app", Reason: crashLoop, Log: log}})
		if note := got[len(got)-1]; len(note) < 900 || len(note) > 1024+len("Warning CrashLoopBackOff ReadLog a: ") || !strings.Contains(note, want) || !strings.HasSuffix(note, last) || !utf8.ValidString(note) {
			t.Errorf("got %d bytes: %q", len(note), note)
		}
	}
}

func TestAnnounce(t *testing.T) {
	entry := func(pod, reason string, restarts int32) v1alpha1.ProblemPod {
		return v1alpha1.ProblemPod{Pod: pod, UID: types.UID(pod), Container: "app", Reason: reason, RestartCount: restarts, Message: "100% out"}
	}
	before := []v1alpha1.ProblemPod{entry("a", crashLoop, 1), entry("b", errImagePull, 0), entry("c", crashLoop, 1)}
	after := []v1alpha1.ProblemPod{entry("a", crashLoop, 2), entry("b", imagePullBackOff, 0), entry("d", "Odd: reason?", 0), entry("e", "?", 0)}
	var got announced
	Announce(&got, exporter(), before, after)
	want := announced{
		"Warning ImagePullBackOff CheckPods b: Pod b, container app: ImagePullBackOff: 100% out",
		"Warning Oddreason CheckPods d: Pod d, container app: Odd: reason?: 100% out",
		"Warning ProblemPod CheckPods e: Pod e, container app: ?: 100% out",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}
