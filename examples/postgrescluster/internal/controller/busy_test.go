package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// occupy takes all connections of a kind that a member has for clients, and returns what
// gives them back.
func (w *world) occupy(name, kind string) (release func()) {
	w.t.Helper()
	service, secret := &corev1.Service{}, &corev1.Secret{}
	w.load(name, service)
	w.load("db-credentials", secret)
	var conns []*pgx.Conn
	for {
		conn, err := connectClient(w.t.Context(), service, secret, kind)
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == tooManyConnections {
			break
		}
		w.must(err)
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			w.must(conn.Close(w.t.Context()))
		}
	}
}

// A primary of which clients have all connections is led like any other.
func TestClientsHaveAllConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	release := w.occupy("db-0", "")
	w.did = nil
	for range 3 { // twice the failover delay
		w.passes(failoverDelay)
		if w.reconcile(); w.object.Status.Phase != "Complete" || len(w.did) > 0 {
			t.Fatalf("it is %s because of %s: %s; it does %q", w.object.Status.Phase, w.object.Status.Reason, w.object.Status.Message, w.did)
		}
	}
	// Even its standbys can change.
	w.get().Spec.Size = 3
	w.must(admin.Update(t.Context(), w.object))
	w.until("a third voter", func(s *v1.PostgresClusterStatus) bool { return len(s.Voters) == 3 })
	release()
	w.completes(3)
}

// A primary that has no connection left for the operator either is not failed over.
func TestBusyPrimary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	release := w.occupy("db-0", "replication=database")
	w.is("Seeded", ReasonConnectionsExhausted)
	w.outlastsFailoverDelay()
	if s := w.object.Status; s.Primary != "db-0" || s.Announced != nil || s.PrimaryLostTime != nil {
		t.Errorf("the primary is %s, announced %+v, lost since %s: %s", s.Primary, s.Announced, s.PrimaryLostTime, s.Message)
	}
	if message := w.object.Status.Message; !strings.Contains(message, "max_wal_senders") {
		t.Errorf("it says %q", message)
	}
	release()
	w.completes(2)
	if s := w.object.Status; s.Primary != "db-0" || s.Promotion.Number != 1 {
		t.Errorf("the primary is %s by promotion %+v", s.Primary, s.Promotion)
	}
}

// A primary that hung before it had no connection left is still failed over: the operator's
// own connections to a server that hangs, which it does not end, may be what takes the last one.
func TestPrimaryThatHungAndIsBusy(t *testing.T) {
	lost := &metav1.Time{Time: time.Unix(1, 0)}
	for name, since := range map[string]*metav1.Time{"it answered before": nil, "it hung before": lost} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{
				password: "x", now: time.Unix(100, 0),
				record:   &v1.PostgresClusterStatus{Primary: "db-0", Promotion: &v1.Promotion{Number: 1}, PrimaryLostTime: since},
				refusals: map[string]*pgconn.PgError{"db-0": {Code: tooManyConnections}},
			}
			if c.notePrimary(); c.record.PrimaryLostTime != since {
				t.Errorf("the primary is lost since %v, want %v", c.record.PrimaryLostTime, since)
			}
			if got, want := c.primaryBusy(), since == nil; got != want {
				t.Errorf("busy, which holds up a failover: %t, want %t", got, want)
			}
		})
	}
}
