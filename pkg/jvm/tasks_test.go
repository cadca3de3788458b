//go:build linux

package jvm

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// No user has more tasks than the node has.
func TestAllTasks(t *testing.T) {
	for loadavg, want := range map[string]int64{
		"0.20 0.18 0.12 1/80 11206\n": 80, "0.00 0.00 0.00 0/0 0\n": 0, "": 0, "0.20 0.18 0.12 1 11206": 0, "0.20 0.18 0.12 1/x 11206": 0,
	} {
		if n, known := parseAllTasks(loadavg); n != want || known != (want > 0) {
			t.Errorf("%q: got %d, %t, want %d", loadavg, n, known, want)
		}
	}
	if ofKernel("/etc/passwd") {
		t.Error("a file of another file system is taken for one of the kernel's")
	}
	used, err := tasksOfUser(0)
	if all, known := allTasks(); !known || err != nil || all < used {
		t.Errorf("there are %d tasks, of which %d are root's, %v", all, used, err)
	}
}

// HotSpot exits if it cannot start its attach listener's thread, so a JVM with few threads
// left is not signaled. Once the listener runs, no thread is needed.
func TestFewThreads(t *testing.T) {
	for limit, start := range map[string]func(*testing.T, jvmtest.JDK) (app *jvmtest.Process, leave func(free int64)){
		"pids.max": func(t *testing.T, jdk jvmtest.JDK) (*jvmtest.Process, func(int64)) {
			group := jvmtest.NeedTaskGroup(t)
			return jdk.Start(t, jvmtest.Options{Group: group}), group.Leave
		},
		"RLIMIT_NPROC": func(t *testing.T, jdk jvmtest.JDK) (*jvmtest.Process, func(int64)) {
			jvmtest.NeedUsers(t)
			app := jdk.Start(t, jvmtest.Options{User: nobody})
			return app, func(free int64) {
				used, err := tasksOfUser(nobody)
				if err != nil {
					t.Fatal(err)
				}
				app.LimitTasks(nobody, used+free)
			}
		},
	} {
		t.Run(limit, func(t *testing.T) {
			jvmtest.EachEnd(t, func(t *testing.T, jdk jvmtest.JDK) {
				app, leave := start(t, jdk)
				leave(0)
				p := found(t, app.PID)
				err := p.Attach(deadline(t))
				app.Unharmed()
				wantKind(t, err, InsufficientThreads)
				if m := err.Error(); !strings.Contains(m, limit) || !strings.Contains(m, "32 ") || !strings.Contains(m, "less than 8 ") {
					t.Errorf("the sentence is: %s", m)
				}
				wantNoAnnouncement(t, p)
				leave(neededTasks + 8)
				attach(t, p)
				leave(0)
				attach(t, p)
				app.Unharmed()
			})
		})
	}
}
