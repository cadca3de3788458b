package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
)

// A world is one PostgresCluster in a namespace of its own, who reconciles it, and a
// kubelet that runs its members.
type world struct {
	t          *testing.T
	object     *v1.PostgresCluster
	reconciler *Reconciler
	kubelet    *kubelet
	events     *events.FakeRecorder
	clock      *clocktesting.FakePassiveClock
	// did are the effects so far. Accidents, if there are any, end the operator at one of them
	// each: it has crashed, and until the next reconcile does nothing any more.
	did       []string
	accidents []*effectstest.Accident
	crashed   bool
	// latency is how long the operator hears nothing of a statement that was executed.
	latency time.Duration
	// before is called before each effect.
	before func(what string)
	// names are how the effects' objects are called, if not by their own names.
	names *strings.Replacer
}

// failoverDelay is what no primary that starts again takes, by the clock of a world on a machine
// however busy. Where it is to pass, it passes at once.
const failoverDelay = time.Hour

func newWorld(t *testing.T, size int32, change ...func(*v1.PostgresCluster)) *world {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "postgrescluster-"}}
	w := &world{t: t, events: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second))}
	w.must(admin.Create(t.Context(), namespace))
	w.object = &v1.PostgresCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "db"},
		Spec:       v1.PostgresClusterSpec{Size: size, Version: "15", FailoverDelay: &metav1.Duration{Duration: failoverDelay}},
	}
	for _, change := range change {
		change(w.object)
	}
	w.must(admin.Create(t.Context(), w.object))
	w.reconciler = w.newReconciler()
	w.kubelet = startKubelet(t, namespace.Name, w.clock.Now)
	return w
}

func (w *world) newReconciler() *Reconciler {
	return &Reconciler{
		Reader: admin, Live: admin, Apply: apply.New(admin, w.seam), Seam: w.seam,
		Events: w.events, Image: "registry.example/member:1", Clock: w.clock, pacing: newPacing(),
	}
}

func (w *world) seam(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
	what := fmt.Sprintf("%s %s on %s", e.Kind, e.What, e.On[strings.Index(e.On, "/")+1:])
	if w.names != nil {
		what = w.names.Replace(what)
	}
	w.did = append(w.did, what)
	if w.before != nil {
		w.before(what)
	}
	if w.crashed {
		return effectstest.ErrAccident
	}
	perform := func() error { return do(ctx) }
	if i := slices.IndexFunc(w.accidents, func(a *effectstest.Accident) bool { return a.Effect == what && !a.Happened() }); i >= 0 {
		perform = func() error { return w.accidents[i].Perform(what, func() error { return do(ctx) }) }
	}
	err := perform()
	w.crashed = errors.Is(err, effectstest.ErrAccident)
	if e.Kind == SQL {
		<-time.After(w.latency)
	}
	return err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) key() client.ObjectKey { return client.ObjectKeyFromObject(w.object) }

func (w *world) get() *v1.PostgresCluster {
	w.t.Helper()
	w.must(admin.Get(w.t.Context(), w.key(), w.object))
	return w.object
}

// reconcile is what an event or the time would have the operator do; a second passes.
func (w *world) reconcile() {
	w.t.Helper()
	if w.crashed { // another one starts, with nothing in its memory
		w.crashed, w.reconciler = false, w.newReconciler()
		for _, a := range w.accidents {
			a.Restart()
		}
	}
	w.reconciler.Reader = w.snapshot()
	_, _ = w.reconciler.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: w.key()})
	w.reconciler.Reader = admin
	w.passes(time.Second)
	w.get()
}

// passes has time pass.
func (w *world) passes(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// outlastsFailoverDelay reconciles while the failover delay passes twice.
func (w *world) outlastsFailoverDelay() {
	w.t.Helper()
	for range 3 {
		w.reconcile()
		w.passes(failoverDelay)
	}
	w.reconcile()
}

// losesPrimary waits until the primary is missed, and until the failover delay is over.
func (w *world) losesPrimary() {
	w.t.Helper()
	w.until("the loss of the primary", func(s *v1.PostgresClusterStatus) bool { return s.PrimaryLostTime != nil })
	w.passes(failoverDelay)
}

// until reconciles until something is so.
func (w *world) until(what string, is func(s *v1.PostgresClusterStatus) bool) {
	w.t.Helper()
	if wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		for before := -1; before < len(w.did) && ctx.Err() == nil; { // at once, as long as it does something
			before = len(w.did)
			if w.reconcile(); is(&w.object.Status) {
				return true, nil
			}
		}
		return false, nil
	}) == nil {
		return
	}
	s := w.object.Status
	w.t.Fatalf("it does not come to %s: it is %s because of %s: %s; voters %v, next %v, announced %+v, promotion %+v of %s\n%s",
		what, s.Phase, s.Reason, s.Message, s.Voters, s.NextVoters, s.Announced, s.Promotion, s.Primary, strings.Join(w.did[max(0, len(w.did)-40):], "\n"))
}

// completes leads the world to its last phase, with this many members, and asserts it.
func (w *world) completes(members int) {
	w.t.Helper()
	w.until(fmt.Sprintf("%d members", members), func(s *v1.PostgresClusterStatus) bool {
		return s.Phase == "Complete" && s.Reason == "" && s.Members == fmt.Sprintf("%d/%[1]d", members) && s.ObservedGeneration == w.object.Generation
	})
	s := w.object.Status
	if ready := meta.FindStatusCondition(s.Conditions, "Ready"); ready == nil || ready.Status != metav1.ConditionTrue {
		w.t.Errorf("Ready is %+v", ready)
	}
	if len(s.Voters) != members || len(s.NextVoters) > 0 || s.Announced != nil {
		w.t.Errorf("it is complete with voters %v, next %v, announced %v", s.Voters, s.NextVoters, s.Announced)
	}
	pods := slices.DeleteFunc(w.list(&corev1.PodList{}), func(pod client.Object) bool {
		return pod.GetDeletionTimestamp() != nil || pod.GetLabels()[labelMember] == ""
	})
	if primaries := w.labeled(rolePrimary); len(pods) != members || primaries != s.Primary {
		w.t.Errorf("there are %d pods, and %s are labeled as the primary, which is %s", len(pods), primaries, s.Primary)
	}
}

// is reconciles until the record says this.
func (w *world) is(phase, reason string) {
	w.t.Helper()
	w.until(phase+" because of "+reason, func(s *v1.PostgresClusterStatus) bool { return string(s.Phase) == phase && s.Reason == reason })
	if ready := meta.FindStatusCondition(w.object.Status.Conditions, "Ready"); w.object.Status.Message == "" || ready == nil {
		w.t.Errorf("nobody can read why: %+v", w.object.Status)
	}
}

// sql has a member execute a statement.
func (w *world) sql(name, statement string) {
	w.t.Helper()
	if _, err := w.ask(name, statement); err != nil {
		w.t.Fatalf("%s: %s: %v", name, statement, err)
	}
}

// ask returns what a member answers, as one text.
func (w *world) ask(name, query string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	conn, err := w.connect(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return "", err
		}
		texts = append(texts, fmt.Sprint(values...))
	}
	return strings.Join(texts, ","), rows.Err()
}

func (w *world) connect(ctx context.Context, name string) (*pgx.Conn, error) {
	service, secret := &corev1.Service{}, &corev1.Secret{}
	w.load(name, service)
	w.load("db-credentials", secret)
	return connectClient(ctx, service, secret, "")
}

// connectClient connects as clients do, with these options.
func connectClient(ctx context.Context, service *corev1.Service, secret *corev1.Secret, options string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s user=postgres dbname=postgres %s", service.Spec.ClusterIP, options))
	if err != nil {
		return nil, err
	}
	config.Password = string(secret.Data["password"])
	return pgx.ConnectConfig(ctx, config)
}

// has asserts the rows of the table t on the primary.
func (w *world) has(want string) {
	w.t.Helper()
	if got, err := w.ask(w.object.Status.Primary, "SELECT v FROM t ORDER BY v"); err != nil || got != want {
		w.t.Errorf("the primary %s has %q (%v), want %q", w.object.Status.Primary, got, err, want)
	}
}
