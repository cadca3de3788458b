package transport

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// Pods that found no place are woken when there is one: in order of arrival, and no more
// than there is room for on the node, in the namespace and in all.
func TestOnRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		limits *Limits
		acts   string // pod/node/namespace acquires a place, with a minus releases it
		want   string
	}{
		"in order of arrival":       {NewLimits(1, 9, 9), "p/1/a q/1/a r/1/a -p/1/a q/1/a -q/1/a", "q r"},
		"nobody waits":              {NewLimits(1, 9, 9), "p/1/a -p/1/a", ""},
		"no more than there's room": {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a", "q"},
		"as many as there's room":   {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a -o/1/a", "q r"},
		"once":                      {NewLimits(1, 9, 9), "p/1/a q/1/a q/1/a -p/1/a", "q"},
		"its place is kept for it":  {NewLimits(1, 9, 9), "p/1/a q/1/a -p/1/a r/1/a q/1/a -q/1/a", "q r"},
		"another's place is not":    {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a -p/1/a r/1/a -o/1/a", "q r"},
		"of the node that has room": {NewLimits(9, 1, 9), "o/1/a p/2/a q/1/a r/2/a -p/2/a", "r"},
		"of the namespace":          {NewLimits(9, 9, 1), "o/1/a p/1/b q/1/a r/1/b -p/1/b", "r"},
		"of a container beside":     {NewLimits(9, 1, 9), "p/1/a p/1/a -p/1/a", "p"},
	} {
		var woken []string
		waiting := 0
		tc.limits.OnWait(func(_ bool, change int) { waiting += change })
		tc.limits.OnRoom(func(_, pod string) bool { woken = append(woken, pod); return true })
		releases := map[string]func(){}
		for act := range strings.FieldsSeq(tc.acts) {
			if place, released := strings.CutPrefix(act, "-"); released {
				releases[place]()
				delete(releases, place)
				continue
			}
			part := strings.Split(act, "/")
			if p, err := tc.limits.acquire(Container{PodUID: types.UID(act), Pod: part[0], Node: part[1], Namespace: part[2]}); err == nil {
				p.respond()
				releases[act] = p.release
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(woken, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if waiting != len(tc.limits.members) {
			t.Errorf("%s: %d are counted as waiting, want %d", name, waiting, len(tc.limits.members))
		}
		for id, kept := range tc.limits.reserved {
			tc.limits.drop(id, kept)
		}
		tc.limits.queue = queue{}
		for _, release := range releases {
			release()
		}
		wantFree(t, tc.limits)
	}
}

// A place that was kept for a pod that does not come is given to the next one.
func TestReservationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(1, 1, 1)
		var mu sync.Mutex // wake is called by timers, too
		woken := map[string]time.Time{}
		l.OnRoom(func(_, pod string) bool {
			mu.Lock()
			defer mu.Unlock()
			woken[pod] = time.Now()
			return true
		})
		in := func(pod string) Container {
			return Container{Namespace: "a", Node: "1", Pod: pod, PodUID: types.UID(pod)}
		}
		first, err := l.acquire(in("first"))
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range []string{"absent", "next"} {
			if _, err := l.acquire(in(pod)); !errors.Is(err, errQueued) {
				t.Fatalf("%s: %v", pod, err)
			}
		}
		first.release()
		time.Sleep(time.Hour)
		synctest.Wait()
		if after := woken["next"].Sub(woken["absent"]); after != reservation {
			t.Errorf("the next pod was woken %s after the one that did not come, want %s", after, reservation)
		}
		wantFree(t, l)
	})
}

// Pods that are gone, and those that need nothing any more, do not hold up those after them.
func TestNoPlaceForWhoDoesNotCome(t *testing.T) {
	for name, tc := range map[string]struct{ comes, passes bool }{
		"they are gone":     {comes: false},
		"they need nothing": {comes: true, passes: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewLimits(16, 5, 12)
				in := func(pod string, node int) Container {
					return Container{Namespace: "a", Pod: pod, PodUID: types.UID(pod), Node: fmt.Sprint(node)}
				}
				live := make(chan time.Time, 1)
				l.OnRoom(func(namespace, pod string) bool {
					switch {
					case pod == "live":
						live <- time.Now()
						return true
					case tc.passes:
						go l.Pass(l.Begin(), namespace, pod) // its reconcile
					}
					return tc.comes
				})
				var held []*place
				for i := range 12 {
					p, err := l.acquire(in(fmt.Sprint("first", i), i))
					if err != nil {
						t.Fatal(err)
					}
					held = append(held, p)
				}
				for i := range 1000 {
					turn, pod := l.Begin(), fmt.Sprint("ghost", i)
					_, _ = l.acquire(in(pod, i%100))
					l.Pass(turn, "a", pod) // the end of the reconcile in which it asked
				}
				_, _ = l.acquire(in("live", 7))
				begin := time.Now()
				for _, p := range held {
					p.release()
				}
				if after := (<-live).Sub(begin); after != 0 {
					t.Errorf("the pod behind them was woken after %s, want at once", after)
				}
				l.Pass(l.Begin(), "a", "live")
				synctest.Wait()
				wantFree(t, l)
				if len(l.members) != 0 || len(l.turns) != 0 {
					t.Errorf("still in the queue: %v %v", l.members, l.turns)
				}
			})
		})
	}
}

// containerOf is a container of namespace a, on the only node.
func containerOf(pod, container string) Container {
	return Container{Namespace: "a", Pod: pod, PodUID: types.UID(pod), Name: container, Node: "1"}
}

// retryOne retries a container of pod q, which takes the only place for retries, and returns
// the pods that are woken. The container hangs of pod p hung before, too.
func retryOne(t *testing.T, l *Limits) (woken *[]string, retried *place) {
	t.Helper()
	woken = &[]string{}
	l.OnRoom(func(_, pod string) bool { *woken = append(*woken, pod); return true })
	l.note(containerOf("q", "hangs"), false)
	l.note(containerOf("p", "hangs"), false)
	retried, err := l.acquire(containerOf("q", "hangs"))
	if err != nil {
		t.Fatal(err)
	}
	return woken, retried
}

// A pod that was woken for one container and asks for another, for which there is no room,
// gives its place to the next one.
func TestWokenForAnotherContainer(t *testing.T) {
	l := NewLimits(1, 1, 1)
	woken, retried := retryOne(t, l)
	first, err := l.acquire(containerOf("first", "app"))
	if err != nil {
		t.Fatal(err)
	}
	first.respond()
	for _, pod := range []string{"p", "next"} {
		if _, err := l.acquire(containerOf(pod, "app")); !errors.Is(err, errQueued) {
			t.Fatalf("%s: %v", pod, err)
		}
	}
	first.release()
	if _, err := l.acquire(containerOf("p", "hangs")); !errors.Is(err, errQueued) {
		t.Fatalf("the other container of p: %v", err)
	}
	if diff := cmp.Diff([]string{"p", "next"}, *woken); diff != "" {
		t.Errorf("woken are (-want +got):\n%s", diff)
	}
	retried.release()
}

// A place that is kept for a pod while its reconcile still runs is for the next one.
func TestWokenDuringTheTurn(t *testing.T) {
	l := NewLimits(1, 1, 1)
	in := func(pod string) Container { return containerOf(pod, "app") }
	l.OnRoom(func(string, string) bool { return true })
	first, err := l.acquire(in("first"))
	if err != nil {
		t.Fatal(err)
	}
	turn := l.Begin()
	for _, pod := range []string{"p", "next"} {
		if _, err := l.acquire(in(pod)); !errors.Is(err, errQueued) {
			t.Fatalf("%s: %v", pod, err)
		}
	}
	first.release() // p is woken
	l.Pass(turn, "a", "p")
	got, err := l.acquire(in("p"))
	if err != nil {
		t.Fatalf("p comes, as it was told to, and finds: %v", err)
	}
	got.release()
}

// A pod that waits for one container still waits when it finds a place for another.
func TestWaitsForAnotherContainer(t *testing.T) {
	l := NewLimits(2, 2, 2)
	woken, retried := retryOne(t, l)
	if _, err := l.acquire(containerOf("p", "hangs")); !errors.Is(err, errQueued) {
		t.Fatalf("the container that hangs: %v", err)
	}
	other, err := l.acquire(containerOf("p", "app"))
	if err != nil {
		t.Fatal(err)
	}
	other.release()
	retried.release()
	if diff := cmp.Diff([]string{"p"}, *woken); diff != "" {
		t.Errorf("woken are (-want +got):\n%s", diff)
	}
}
