package controller

import (
	"context"
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

// Members are killed and held at random, while a client writes. In the end each row that
// was acknowledged is there once, and the cluster is complete. CHAOS_SEED repeats a run, as far as time allows. It
// ends with the first standby that took the place of a primary; FULL=1 makes it three minutes.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CHAOS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, 3, func(c *v1.PostgresCluster) { c.Spec.FailoverDelay = &metav1.Duration{Duration: 5 * time.Second} })
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v int)")
	writer := startWriter(w)
	promoted := w.object.Status.Promotions
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	wait.UntilWithContext(ctx, func(context.Context) {
		name := memberName("db", random.IntN(3))
		switch random.IntN(20) {
		case 0:
			w.kubelet.strike(name, random.IntN(2) == 0)
		case 6:
			w.kubelet.strike(w.object.Status.Primary, random.IntN(2) == 0)
		case 1, 2, 3:
			w.kubelet.release(name)
		}
		if w.reconcile(); !full() && w.object.Status.Primary != "db-0" {
			cancel()
		}
	}, 50*time.Millisecond)
	for ordinal := range 3 {
		w.kubelet.release(memberName("db", ordinal))
	}
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
	t.Logf("%d rows were acknowledged, through %d promotions", len(acknowledged), promotions)
	if len(acknowledged) == 0 || promotions == 0 {
		t.Error("nothing was proven")
	}
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
