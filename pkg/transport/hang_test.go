package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// someHang is the Streams of a fleet in which the containers of some pods hang, and the
// others send their hello after a delay.
type someHang struct {
	hangs func(pod int) bool
	hello time.Duration
}

func (s someHang) Stream(ctx context.Context, in Container, command []string, stdin io.Reader, stdout, stderr io.Writer) error {
	pod, err := strconv.Atoi(in.Pod)
	if err != nil {
		return err
	}
	if s.hangs(pod) {
		return act(hangs).Stream(ctx, in, command, stdin, stdout, stderr)
	}
	return acts(sleeps(s.hello), prints(hello), untilEnd).Stream(ctx, in, command, stdin, stdout, stderr)
}

// sleeps does nothing for d.
func sleeps(d time.Duration) act {
	return func(context.Context, *bufio.Reader, io.Writer, io.Writer) error {
		time.Sleep(d)
		return nil
	}
}

const (
	fleetPods, fleetNodes, fleetWorkers = 500, 10, 96
	// A session with a healthy container takes one second in all.
	fleetHello, fleetWork = 200 * time.Millisecond, 800 * time.Millisecond
)

func nodeOf(pod int) int { return pod * fleetNodes / fleetPods }

// attachFleet attaches to all pods that are not left out, with the operator's default
// limits, and returns the sorted times at which the sessions of the healthy pods ended. It
// retries as the controller does, and returns once all healthy pods are done.
func attachFleet(t *testing.T, dial func(someHang, *Limits) (Dialer, func()), hangs, leftOut func(pod int) bool) (ended []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits(16, 5, 12)
		e, hangUp := dial(someHang{hangs, fleetHello}, limits)
		defer hangUp()
		begin, workers := time.Now(), make(chan struct{}, fleetWorkers)
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var healthy, all sync.WaitGroup
		for pod := range fleetPods {
			if leftOut(pod) {
				continue
			}
			in := Container{Namespace: "ns", Pod: strconv.Itoa(pod), PodUID: types.UID(strconv.Itoa(pod)), Name: "app", ID: "containerd://" + strconv.Itoa(pod), Node: strconv.Itoa(nodeOf(pod))}
			if !hangs(pod) {
				healthy.Add(1)
			}
			all.Go(func() {
				for backoff := time.Second; ctx.Err() == nil; {
					workers <- struct{}{}
					s, err := e.Open(ctx, in)
					if err == nil {
						time.Sleep(fleetWork)
						s.Close()
						mu.Lock()
						ended = append(ended, time.Since(begin))
						mu.Unlock()
						<-workers
						healthy.Done()
						return
					}
					<-workers
					wait := 300 * time.Millisecond
					if known, ok := errors.AsType[*Error](err); ok && known.Reason != v1alpha1.ReasonQueued {
						wait, backoff = backoff, min(2*backoff, 10*time.Minute)
					}
					select {
					case <-time.After(wait):
					case <-ctx.Done():
					}
				}
			})
		}
		healthy.Wait()
		stop()
		all.Wait()
		wantFree(t, limits)
	})
	slices.Sort(ended)
	return ended
}

// Containers that hang, on all nodes or on one, hardly delay the sessions with others. The
// clock is fake, but the Go scheduler decides who gets the next place, so the test takes
// the median of three runs.
func TestHangingContainersDelayNoOthers(t *testing.T) {
	none := func(int) bool { return false }
	for transport, dial := range map[string]func(someHang, *Limits) (Dialer, func()){
		"by exec": func(containers someHang, limits *Limits) (Dialer, func()) {
			e := anExec(containers)
			e.limits = limits
			return e, func() {}
		},
		"by node agents": func(containers someHang, limits *Limits) (Dialer, func()) {
			n := NewNode(agentsWith(containers), agents{}, &Artifacts{}, effects.Direct, limits)
			return n, n.Close
		},
	} {
		for name, hangs := range map[string]func(pod int) bool{
			"one pod in ten":  func(pod int) bool { return pod%10 == 7 },
			"one node in ten": func(pod int) bool { return nodeOf(pod) == 7 },
		} {
			t.Run(transport+"/"+name, func(t *testing.T) {
				ratios := map[string][]float64{}
				for range 3 {
					without, with := attachFleet(t, dial, none, hangs), attachFleet(t, dial, hangs, none)
					for what, i := range map[string]int{"median": len(without) / 2, "last": len(without) - 1} {
						ratios[what] = append(ratios[what], with[i].Seconds()/without[i].Seconds())
					}
				}
				for what, ratio := range ratios {
					slices.Sort(ratio)
					t.Logf("with containers that hang, the %s session ends after %.2f times as long", what, ratio)
					if ratio[1] > 1.1 {
						t.Errorf("the %s session is delayed", what)
					}
				}
			})
		}
	}
}
