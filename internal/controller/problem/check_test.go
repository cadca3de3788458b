package problem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

func TestTail(t *testing.T) {
	cases := map[string]struct{ log, want string }{
		"the log is empty":                   {"", ""},
		"the log has empty lines at the end": {"one\ntwo\n\n", "one\ntwo"},
		"the log has Windows line ends":      {"one\r\ntwo\r\n", "one\ntwo"},
		"the log has a stack trace":          {"java.lang.Error\n\tat Main", "java.lang.Error\n at Main"},
		"the log has colors":                 {"\x1b[1;31mERROR\x1b[0m no", "ERROR no"},
		"the log has control characters":     {"a\x00b\x07c\u202ed\u0085e", "a?b?c?d?e"},
		"the log is not UTF-8":               {"a\xff\xfeb", "a?b"},
		"the log has the maximum length":     {strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"the log is one byte too long":       {"abcd" + strings.Repeat("x", 4093), "…" + strings.Repeat("x", 4093)},
		"the cut is inside a character":      {strings.Repeat("€", 2000), "…" + strings.Repeat("€", 1364)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tail(tc.log)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if len(got) > maxLog || !utf8.ValidString(got) {
				t.Errorf("%d bytes, valid: %t", len(got), utf8.ValidString(got))
			}
		})
	}
}

// scripted are logs that name themselves, and count reads.
type scripted struct {
	err error
	// fails is the number of reads that fail with err; 0 for all.
	fails int

	mu    sync.Mutex
	reads int
}

func (s *scripted) Tail(_ context.Context, pod types.NamespacedName, container string, lines int32, previous bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.err != nil && (s.fails == 0 || s.reads <= s.fails) {
		return "", s.err
	}
	return fmt.Sprintf("%s/%s: %d lines, previous: %t", pod.Name, container, lines, previous), nil
}

func crashing(restarts int32) corev1.Pod {
	pod := aPod(corev1.PodRunning, is("app", restarts, waits(crashLoop, backOff), exits(1, "Error", ago(9))))
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://1"
	return pod
}

// Logs are read once for each restart, with the requested number of lines.
func TestLogsAreReadOnce(t *testing.T) {
	e := exporter()
	e.Spec.Alerts.LogLines = 3
	e.Generation = 1
	logs := &scripted{}
	look := func(pod corev1.Pod, reads int, log, previous string) {
		t.Helper()
		found := Find(e, []corev1.Pod{pod}, now)
		if e.Spec.Alerts.LogLines > 0 {
			found.read(t.Context(), logs, e)
		}
		got := found.Entries[0]
		if logs.reads != reads || got.Log != log || got.PreviousLog != previous {
			t.Errorf("got %d reads, log %q and previous log %q", logs.reads, got.Log, got.PreviousLog)
		}
		e.Status.ProblemPods, e.Status.ObservedGeneration = found.Entries, e.Generation
	}
	const log, previous = "app-0/app: 3 lines, previous: false", "app-0/app: 3 lines, previous: true"
	look(crashing(0), 1, log, "")
	look(crashing(0), 1, log, "")
	look(crashing(1), 3, log, previous)
	look(crashing(1), 3, log, previous)

	e.Generation, e.Spec.Alerts.LogLines = 2, 4
	look(crashing(1), 5, strings.Replace(log, "3", "4", 1), strings.Replace(previous, "3", "4", 1))
	e.Generation, e.Spec.Alerts.LogLines = 3, 0
	look(crashing(1), 5, "", "")

	e.Generation, e.Spec.Alerts.LogLines = 4, 3
	never := aPod(corev1.PodPending, is("app", 0, waits(errImagePull, notFound)))
	look(never, 5, "", "")
}

// A missing right to read logs is reported, and retried after a while; other errors are not
// reported.
func TestLogsThatCannotBeRead(t *testing.T) {
	cases := map[string]struct {
		err   error
		says  string
		again bool
	}{
		"the right is missing": {fmt.Errorf("as the server says: %w", ErrForbidden), "pods/log", true},
		"another error occurs": {errors.New("connection refused"), "exit code 1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := exporter()
				e.Spec.Alerts.LogLines = 3
				logs := &scripted{err: tc.err}
				for range 2 {
					found := Find(e, []corev1.Pod{crashing(1)}, now)
					found.read(t.Context(), logs, e)
					if message := found.Entries[0].Message; strings.Count(message, tc.says) != 1 || len(message) > maxMessage {
						t.Errorf("message: got %q, want it to contain %q once", message, tc.says)
					}
					if found.Again > 0 != tc.again {
						t.Errorf("next look: got %s", found.Again)
					}
					e.Status.ProblemPods = found.Entries
				}
				logs.err = nil
				found := Find(e, []corev1.Pod{crashing(1)}, now)
				found.read(t.Context(), logs, e)
				if got := found.Entries[0]; tc.again == (got.Log == "") || strings.Contains(got.Message, "pods/log") {
					t.Errorf("after the right was granted: got log %q and message %q", got.Log, got.Message)
				}
			})
		})
	}
}

// A failed read is retried, a few times and within limits.
func TestLogsAreReadAgain(t *testing.T) {
	failure := errors.New("connection refused")
	cases := map[string]struct {
		logs  *scripted
		reads int
		lasts time.Duration
		read  bool
	}{
		"the read succeeds":                 {logs: &scripted{}, reads: 2, read: true},
		"the read fails once":               {logs: &scripted{err: failure, fails: 1}, reads: 3, lasts: 500 * time.Millisecond, read: true},
		"the read fails until the last try": {logs: &scripted{err: failure, fails: 3}, reads: 5, lasts: 3500 * time.Millisecond, read: true},
		"the read always fails":             {logs: &scripted{err: failure}, reads: 4, lasts: 3500 * time.Millisecond},
		"the read is forbidden":             {logs: &scripted{err: ErrForbidden}, reads: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := exporter()
				e.Spec.Alerts.LogLines = 3
				begin := time.Now()
				found := Find(e, []corev1.Pod{crashing(1)}, now)
				found.read(t.Context(), tc.logs, e)
				if lasted := time.Since(begin); tc.logs.reads != tc.reads || lasted != tc.lasts {
					t.Errorf("got %d reads in %s, want %d in %s", tc.logs.reads, lasted, tc.reads, tc.lasts)
				}
				if got := found.Entries[0]; (got.Log != "") != tc.read || (got.PreviousLog != "") != tc.read {
					t.Errorf("got log %q and previous log %q", got.Log, got.PreviousLog)
				}
			})
		})
	}
}

// The timeout for all logs of a reconciliation limits the retries, too.
func TestLogsAreNotReadAgainForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := exporter()
		e.Spec.Alerts.LogLines = 3
		var pods []corev1.Pod
		for i := range maxListed {
			pod := crashing(1)
			pod.Name, pod.UID = fmt.Sprintf("app-%02d", i), types.UID(fmt.Sprint(i))
			pods = append(pods, pod)
		}
		begin := time.Now()
		found := Find(e, pods, now)
		found.read(t.Context(), &scripted{err: errors.New("connection refused")}, e)
		if lasted := time.Since(begin); lasted > allLogs {
			t.Errorf("the reads took %s, want at most %s", lasted, allLogs)
		}
	})
}

// announced are the recorded Events.
type announced []string

func (e *announced) Eventf(_, related runtime.Object, eventType, reason, action, note string, args ...any) {
	*e = append(*e, fmt.Sprintf("%s %s %s %s: %s", eventType, reason, action, related.(*corev1.Pod).Name, fmt.Sprintf(note, args...)))
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
