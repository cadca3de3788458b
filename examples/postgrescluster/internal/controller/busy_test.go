package controller

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// occupy takes all connections of a kind that a member has for clients, and returns who gives
// them back.
func (w *world) occupy(name, kind string) (release func()) {
	w.t.Helper()
	service, secret := &corev1.Service{}, &corev1.Secret{}
	w.must(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: name}, service))
	w.must(admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.object.Namespace, Name: "db-credentials"}, secret))
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

// A primary that is only busy is not failed over.
func TestBusyPrimary(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	release := w.occupy("db-0", "")
	w.is("Seeded", ReasonConnectionsExhausted)
	for range 60 { // twice the failover delay
		w.reconcile()
	}
	if s := w.object.Status; s.Primary != "db-0" || s.Announced != nil || s.PrimaryLostTime != nil {
		t.Errorf("the primary is %s, announced %+v, lost since %s: %s", s.Primary, s.Announced, s.PrimaryLostTime, s.Message)
	}
	if message := w.object.Status.Message; !strings.Contains(message, "too many clients") {
		t.Errorf("it says %q", message)
	}
	release()
	w.completes(2)
	if s := w.object.Status; s.Primary != "db-0" || s.Promotion.Number != 1 {
		t.Errorf("the primary is %s by promotion %+v", s.Primary, s.Promotion)
	}
}
