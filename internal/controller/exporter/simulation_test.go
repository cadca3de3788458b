package exporter

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

const (
	// page has the table between its markers.
	page  = "../../../docs/design/0005-rollout-gate.md"
	begin = "<!-- The cost of each rule: written by internal/controller/exporter (UPDATE=1 go test). Do not edit. -->\n\n"
	end   = "\n<!-- End of what is written. -->\n"
)

// The rollout that is simulated: the default limits, five seconds for an attach, and
// containers that exit by themselves once a week.
const (
	fleetSize  = 5000
	attachTime = 5 * time.Second
	concurrent = 10
	minReady   = 5 * time.Second
	window     = time.Minute
	lifetime   = 7 * 24 * time.Hour
)

// A harm makes a share of the pods exit some time after an attach.
type harm struct {
	what  string
	share float64
	after time.Duration
}

// docs/design/0005-rollout-gate.md has the cost of each value of haltThreshold.
func TestCostOfRules(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the markers of the table", page)
	}
	want := costs()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !sameFigures(table, want) {
		t.Errorf("%s, UPDATE=1 writes it: got\n%swant\n%s", page, table, want)
	}
}

// sameFigures reports whether two tables differ in the last digits of figures only, which
// math.Log rounds otherwise on other machines.
func sameFigures(a, b string) bool {
	before, after := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(before, after, func(a, b string) bool {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		return a == b || errX == nil && errY == nil && math.Abs(x-y) <= 0.05*math.Max(x, y)
	})
}

// Where the first exit halts, the simulation agrees with the formula.
func TestSimulationAgrees(t *testing.T) {
	halted := 0
	const changes = 10000
	random := rand.New(rand.NewPCG(1, 2))
	for range changes {
		if simulate("1", harm{}, random).halted {
			halted++
		}
	}
	want := 1 - math.Exp(-fleetSize*window.Seconds()/lifetime.Seconds())
	if got := float64(halted) / changes; math.Abs(got-want) > 0.02 {
		t.Errorf("changes that halt: got %.3f, want %.3f", got, want)
	}
}

func costs() string {
	harms := []harm{
		{"each, at once", 1, time.Second}, {"each, after 30 s", 1, 30 * time.Second}, {"1 in 10", 0.1, time.Second}, {"1 in 100", 0.01, time.Second}, {"1 in 1000", 0.001, time.Second}, {"each, after 90 s", 1, 90 * time.Second},
	}
	var b strings.Builder
	b.WriteString("| `haltThreshold` | changes that halt | pauses a change |")
	for _, h := range harms {
		fmt.Fprintf(&b, " %s |", h.what)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", 2+len(harms)) + "\n")
	for _, threshold := range []string{"1", "2", "1%", "5%", "100%"} {
		const changes = 20000
		random := rand.New(rand.NewPCG(1, 2))
		halted, pauses := 0, 0
		for range changes {
			r := simulate(threshold, harm{}, random)
			pauses += r.pauses
			if r.halted {
				halted++
			}
		}
		fmt.Fprintf(&b, "| %s | %.2g %% | %.2f |", threshold, 100*float64(halted)/changes, float64(pauses)/changes)
		for _, h := range harms {
			const changes = 200
			hurt := 0
			for range changes {
				hurt += simulate(threshold, h, random).hurt
			}
			fmt.Fprintf(&b, " %s |", figure(float64(hurt)/changes))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// figure returns two digits of a number, or all of those before the point.
func figure(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// result is what became of a change.
type result struct {
	halted       bool
	pauses, hurt int
}

// exitTimes are the exits to come, the next one first.
type exitTimes []exitTime

type exitTime struct {
	at    time.Duration
	after time.Duration // the attach
	pod   int
}

func (e exitTimes) Len() int           { return len(e) }
func (e exitTimes) Less(i, j int) bool { return e[i].at < e[j].at }
func (e exitTimes) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *exitTimes) Push(x any)        { *e = append(*e, x.(exitTime)) }
func (e *exitTimes) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate rolls a change out to a fleet. Which exits halt, and how long one pauses, is decided
// by the rollout itself.
func simulate(threshold string, h harm, random *rand.Rand) (is result) {
	r := &rollout{revision: revision, limits: limits(window.String(), threshold), restarts: &v1alpha1.Restarts{}}
	var (
		coming   exitTimes
		clock    time.Duration
		attached int
		proven   bool
	)
	// exit handles the exits until a time, and reports whether they halt the rollout.
	exit := func(until time.Duration) bool {
		for len(coming) > 0 && coming[0].at <= until {
			next := heap.Pop(&coming).(exitTime)
			if next.after >= window { // it does not count
				continue
			}
			r.now = now.Add(next.at)
			name := fmt.Sprint(next.pod)
			r.restarts.Pods = append(r.restarts.Pods, v1alpha1.RestartedPod{Name: name, UID: types.UID(name), Time: metav1.NewTime(r.now)})
			if r.tooMany(r.restarts.Pods, attached) {
				is.halted = true
				return true
			}
			is.pauses++
		}
		return false
	}
	mayExit := 1 - math.Exp(-window.Seconds()/lifetime.Seconds())
	natural, harmed := distance(mayExit, random), distance(h.share, random)
	for pod := 0; pod < fleetSize; pod++ {
		for {
			if exit(clock) {
				return is
			}
			r.now = now.Add(clock)
			if left := r.pauseLeft(); left > 0 {
				clock += left
				continue
			}
			break
		}
		if skip := min(natural, harmed, fleetSize) - pod; skip > 0 && proven && len(coming) == 0 { // none of these exits
			attached, clock, pod = attached+skip, clock+time.Duration(skip)*attachTime/concurrent, pod+skip-1
			continue
		}
		attached++
		if harmed == pod {
			heap.Push(&coming, exitTime{clock + h.after, h.after, pod})
			is.hurt++
			harmed += 1 + distance(h.share, random)
		}
		if natural == pod {
			after := time.Duration(random.Float64() * float64(window))
			heap.Push(&coming, exitTime{clock + after, after, pod})
			natural += 1 + distance(mayExit, random)
		}
		if proven {
			clock += attachTime / concurrent
			continue
		}
		exits := len(coming) > 0 && coming[0].at <= clock+attachTime+minReady
		proven = !exits
		clock += attachTime + minReady
	}
	exit(clock + window)
	return is
}

// distance returns how many pods come before the next one to which something happens.
func distance(probability float64, random *rand.Rand) int {
	if probability == 0 {
		return fleetSize
	}
	return int(math.Log(1-random.Float64()) / math.Log(1-probability))
}
