package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// Members are killed and held, stopped, slowed, and have their volumes filled at random, while a client
// writes. In the end each row that was acknowledged is there once, and the cluster is complete.
// CHAOS_SEED repeats a run, as far as time allows. It ends with the first standby that took the place
// of a primary; with FULL=1, as each night, there are three seeds, of ten minutes each, side by side.
func TestChaos(t *testing.T) {
	t.Parallel()
	seeds := []uint64{uint64(time.Now().UnixNano())}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seeds[0], err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	} else if full() {
		seeds = append(seeds, seeds[0]+1, seeds[0]+2)
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("CHAOS_SEED=%d", seed), func(t *testing.T) {
			t.Parallel()
			chaos(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// chaosTime is how long members have troubles at most; CHAOS_TIME changes it.
func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("CHAOS_TIME")
	if text == "" {
		return 10 * time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func chaos(t *testing.T, random *rand.Rand) {
	w := newWorld(t, 3, func(c *v1.PostgresCluster) { c.Spec.FailoverDelay = &metav1.Duration{Duration: 5 * time.Second} })
	w.kubelet.mu.Lock()
	w.kubelet.volume = smallVolume
	w.kubelet.mu.Unlock()
	w.completes(3)
	for ordinal := range 3 {
		w.boundWAL(memberName("db", ordinal))
	}
	w.sql("db-0", "CREATE TABLE t (v int)")
	writer := startWriter(w)
	promoted := w.object.Status.Promotions
	troubles, had := newTroubles(w), map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), chaosTime(t))
	defer cancel()
	wait.UntilWithContext(ctx, func(context.Context) {
		what := w.trouble(troubles, random)
		had[what]++
		if w.reconcile(); !full() && w.object.Status.Primary != "db-0" {
			cancel()
		}
	}, 50*time.Millisecond)
	troubles.stop()
	for ordinal := range 3 {
		w.kubelet.release(memberName("db", ordinal))
	}
	w.passes(maxReplacementDelay)
	w.completes(3)
	acknowledged := writer.stop()
	w.completes(3)

	got, err := w.ask(w.object.Status.Primary, "SELECT v FROM t")
	w.must(err)
	rows := strings.Split(got, ",")
	count := map[string]int{}
	for _, row := range rows {
		count[row]++
	}
	for _, row := range acknowledged {
		if count[row] != 1 {
			t.Errorf("the row %s was acknowledged, and is there %d times", row, count[row])
		}
	}
	promotions := w.object.Status.Promotions - promoted
	t.Logf("%d rows were acknowledged, through %d promotions; troubles: %v", len(acknowledged), promotions, had)
	if len(acknowledged) == 0 || promotions == 0 {
		t.Error("nothing was proven")
	}
}

// trouble has one member have a trouble, or none, and returns what it was. Half of them the primary has.
func (w *world) trouble(troubles *troubles, random *rand.Rand) string {
	name := memberName("db", random.IntN(3))
	if random.IntN(2) == 0 {
		name = w.object.Status.Primary
	}
	d := time.Duration(1+random.IntN(15)) * time.Second
	switch random.IntN(60) {
	case 0, 1:
		w.kubelet.strike(name, false)
		return "killed"
	case 2, 3:
		w.kubelet.strike(name, true)
		return "killed and held"
	case 4:
		troubles.stopped(name, true, d)
		return "stopped"
	case 5:
		troubles.stopped(name, false, d)
		return "stopped, but for those that it serves"
	case 6:
		troubles.slowed(name, d)
		return "slowed"
	case 7:
		troubles.filled(name, d)
		return "filled"
	case 8, 9:
		if name == w.object.Status.Primary {
			return "none"
		}
		troubles.lagsAlone(name)
		return "alone, and behind"
	case 10, 11, 12, 13, 14, 15, 16, 17, 18, 19:
		w.kubelet.release(name)
		return "released"
	}
	return "none"
}

// strike kills a member that runs.
func (k *kubelet) strike(name string, hold bool) {
	pod := &corev1.Pod{}
	if admin.Get(k.t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, pod) == nil {
		k.kill(name, hold)
	}
}

// A writer inserts one number after the other, and keeps those that were acknowledged.
type writer struct {
	cancel       context.CancelFunc
	running      sync.WaitGroup
	acknowledged []string
}

func startWriter(w *world) *writer {
	ctx, cancel := context.WithCancel(w.t.Context())
	wr := &writer{cancel: cancel}
	key := w.key()
	wr.running.Go(func() {
		n := 0
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			for ; insert(ctx, key, n) == nil; n++ {
				wr.acknowledged = append(wr.acknowledged, strconv.Itoa(n))
			}
			n++ // it may be there or not
		}, 100*time.Millisecond)
	})
	return wr
}

// insert inserts a number where the status says that the primary is, as -rw leads there.
func insert(ctx context.Context, key client.ObjectKey, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	object, service, secret := &v1.PostgresCluster{}, &corev1.Service{}, &corev1.Secret{}
	for name, o := range map[string]client.Object{"db": object, "db-credentials": secret} {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: name}, o); err != nil {
			return err
		}
	}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: object.Status.Primary}, service); err != nil {
		return err
	}
	conn, err := connectClient(ctx, service, secret, "")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "INSERT INTO t VALUES ($1)", n)
	return err
}

func (wr *writer) stop() []string {
	wr.cancel()
	wr.running.Wait()
	slices.Sort(wr.acknowledged)
	return wr.acknowledged
}
