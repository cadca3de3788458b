package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pglogrepl"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/timeline"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// deleted deletes the PostgresCluster, and what the garbage collector would with it; a next one of
// its name is created, with this spec.adopt.
func (w *world) deleted(adopt v1.Adopt) {
	w.t.Helper()
	old := w.get().DeepCopy()
	w.must(admin.Delete(w.t.Context(), w.object))
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}, &policyv1.PodDisruptionBudgetList{}} {
		for _, object := range w.list(list) {
			if metav1.IsControlledBy(object, old) {
				w.must(client.IgnoreNotFound(admin.Delete(w.t.Context(), object)))
			}
		}
	}
	w.object = &v1.PostgresCluster{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name}, Spec: old.Spec}
	w.object.Spec.Adopt = adopt
	w.must(admin.Create(w.t.Context(), w.object))
	w.reconciler = w.newReconciler()
}

// record changes the record on a claim.
func (w *world) record(name string, change func(r *claimRecord)) {
	w.t.Helper()
	claim, record := &corev1.PersistentVolumeClaim{}, &claimRecord{}
	w.load(name, claim)
	w.must(json.Unmarshal([]byte(claim.Annotations[annotationRecord]), record))
	change(record)
	data, err := json.Marshal(record)
	w.must(err)
	claim.Annotations[annotationRecord] = string(data)
	w.must(admin.Update(w.t.Context(), claim))
}

// The claims of a PostgresCluster that was deleted are taken over: not unasked, not with a record that
// is older than the data, not before all members have answered that the record names, and then with
// everything that was acknowledged.
func TestAdoptClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	w.completes(3)
	w.sql("db-0", "CREATE TABLE t (v text)")
	w.kubelet.kill("db-0", true)
	w.losesPrimary()
	w.until("another primary", func(s *v1.PostgresClusterStatus) bool { return s.Primary != "db-0" && s.Phase == "Serving" })
	primary, identifier := w.object.Status.Primary, w.object.Status.SystemIdentifier
	w.sql(primary, "INSERT INTO t VALUES ('a')") // which the first primary does not have
	w.deleted("")
	w.is("Planned", ReasonNameTaken)
	if message := w.object.Status.Message; !strings.Contains(message, "spec.adopt") {
		t.Errorf("it says %q, not what takes the claims over", message)
	}
	var promotions int64
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		w.record(name, func(r *claimRecord) {
			promotions = r.Promotions
			r.Promotions, r.Promotion, r.Primary, r.Announced = 1, &v1.Promotion{Number: 1, Timeline: 2}, "db-0", nil
		})
	}
	w.kubelet.hold("db-0")
	crash := &effectstest.Accident{Kind: effectstest.DiesAfter, Effect: "apply postgrescluster-operator on db-1", Nth: 1} // halfway
	w.accidents = []*effectstest.Accident{crash}
	w.get().Spec.Adopt = v1.Claims
	w.must(admin.Update(t.Context(), w.object))
	w.is("Seeded", ReasonAdoptionRefused)
	happened(t, w.accidents)
	for _, name := range []string{"db-0", "db-1", "db-2"} {
		w.record(name, func(r *claimRecord) {
			r.Promotions, r.Promotion, r.Primary = promotions, &v1.Promotion{Number: 2, From: 1, FromTimeline: 2, Timeline: 3}, primary
		})
	}
	w.is("Seeded", ReasonAdopting)
	w.outlastsFailoverDelay()
	if s := w.object.Status; s.Promotions != promotions || !strings.Contains(s.Message, "[db-0]") {
		t.Errorf("without db-0, promotion %d is announced: %s", s.Promotions, s.Message)
	}
	w.kubelet.release("db-0")
	w.completes(3)
	if s := w.object.Status; s.Primary != primary || s.SystemIdentifier != identifier || s.Adopting || s.Promotions != promotions+1 {
		t.Errorf("the status is %+v; the primary was %s, of %s", s, primary, identifier)
	}
	w.has("a")
}

// What cannot be taken over is refused, with a reason and a sentence, and stays as it is.
func TestAdoptionRefused(t *testing.T) {
	t.Parallel()
	record := func(identifier string, voters ...string) string {
		return fmt.Sprintf(`{"revision":1,"systemIdentifier":%q,"primary":%q,"promotion":{"number":1},"promotions":1,"voters":["%s"]}`, identifier, voters[0], strings.Join(voters, `","`))
	}
	for name, test := range map[string]struct {
		records map[string]string
		reason  string
		says    string
	}{
		"different clusters":         {map[string]string{"db-0": record("1", "db-0", "db-1"), "db-1": record("2", "db-0", "db-1")}, ReasonAdoptionRefused, "db-0 and db-1"},
		"the claim of a voter":       {map[string]string{"db-0": record("1", "db-0", "db-1")}, ReasonAdoptionRefused, "member db-1, whose claim is missing"},
		"no record":                  {map[string]string{"db-0": ""}, ReasonAdoptionRefused, "db-0 does not record"},
		"a record of something else": {map[string]string{"db-0": record("1", "db-0", `x'; DROP`)}, ReasonAdoptionRefused, "no name of a member"},
		"no password":                {map[string]string{"db-0": record("1", "db-0")}, ReasonCredentialsMissing, "the password that the members have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, func(c *v1.PostgresCluster) { c.Spec.Adopt = v1.Claims })
			var claims []client.Object
			for claim, record := range test.records {
				object := w.foreign("PersistentVolumeClaim", claim)
				object.SetLabels(map[string]string{labelOf: "another", labelMember: claim})
				if record != "" {
					object.SetAnnotations(map[string]string{annotationRecord: record})
				}
				w.must(admin.Update(t.Context(), object))
				claims = append(claims, object)
			}
			w.is("Planned", test.reason)
			if message := w.object.Status.Message; !strings.Contains(message, test.says) {
				t.Errorf("it says %q, not %q", message, test.says)
			}
			for _, claim := range claims {
				w.unchanged(claim)
			}
			if slices.ContainsFunc(w.did, func(did string) bool {
				return !strings.Contains(did, "status on db") && !strings.HasSuffix(did, "on db")
			}) {
				t.Errorf("it does %q", w.did)
			}
		})
	}
}

// The claims record all voters before the primary waits for them: the record of one that
// acknowledged a commit is there whenever the operator ends.
func TestVotersAreRecordedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	settings := 0
	w.before = func(what string) {
		if !strings.HasPrefix(what, "sql set synchronous_standby_names on ") {
			return
		}
		status := &v1.PostgresCluster{}
		w.must(admin.Get(t.Context(), w.key(), status))
		voters := slices.Concat(status.Status.Voters, status.Status.NextVoters)
		settings++
		for _, claim := range w.list(&corev1.PersistentVolumeClaimList{}) {
			record := &claimRecord{}
			if err := json.Unmarshal([]byte(claim.GetAnnotations()[annotationRecord]), record); err != nil {
				t.Errorf("%s: the claim %s records nothing: %v", what, claim.GetName(), err)
				continue
			}
			for _, name := range voters {
				if !slices.Contains(record.names(), name) {
					t.Errorf("%s: the claim %s records %+v, without the voter %s", what, claim.GetName(), record, name)
				}
			}
		}
	}
	w.completes(2)
	if settings < 2 {
		t.Errorf("the setting was changed %d times: nothing was proven", settings)
	}
	// A status that was lost is recalled.
	lost := w.get().DeepCopy()
	w.object.Status = v1.PostgresClusterStatus{Record: statemachine.Record{ObservedGeneration: -1}}
	w.must(admin.Status().Update(t.Context(), w.object))
	w.completes(2)
	if s := w.object.Status; s.Primary != lost.Status.Primary || !slices.Equal(s.Voters, lost.Status.Voters) || s.Promotions != lost.Status.Promotions {
		t.Errorf("the status is %+v, and was %+v", s, lost.Status)
	}
}

// A record that is older than what the members have says who has the last commits no longer.
func TestRecordOutdated(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(servers map[string]*server)
		says   string
	}{
		"it is the last":              {func(map[string]*server) {}, ""},
		"a later promotion":           {func(s map[string]*server) { s["db-1"].Slot = "promotion_2_db_1" }, "db-1 has seen promotion 2"},
		"a slot of a later one":       {func(s map[string]*server) { s["db-2"].Slots = []string{"promotion_3_db_1"} }, "db-2 has seen promotion 3"},
		"another one takes writes":    {func(s map[string]*server) { s["db-2"].InRecovery = false }, "db-2 takes writes"},
		"it waited for more standbys": {func(s map[string]*server) { s["db-0"].SynchronousStandbyNames = `ANY 2 ("db-1", "db-2", "db-3")` }, "db-0 waited for"},
	} {
		c := threeMembers()
		c.record.Promotions = 1
		for _, name := range c.record.Voters {
			c.servers[name] = &server{InRecovery: true, Slot: "promotion_1_" + strings.ReplaceAll(name, "-", "_")}
		}
		c.servers["db-0"].SynchronousStandbyNames = `ANY 1 ("db-1", "db-2")`
		test.change(c.servers)
		switch o := c.recordOutdated(); {
		case o == nil && test.says != "", o != nil && test.says == "", o != nil && (o.Reason != ReasonAdoptionRefused || !strings.Contains(o.Message, test.says)):
			t.Errorf("%s: the outcome is %+v, want %q", name, o, test.says)
		}
	}
}

// Adoption ends when the members that the claims record have answered, or when the recorded
// primary still takes writes that enough of them acknowledge.
func TestAdoptionEnds(t *testing.T) {
	t.Parallel()
	standby := func(replayed pglogrepl.LSN) *server {
		return &server{InRecovery: true, Waiting: true, Timeline: 2, Slot: "promotion_1_x", LSN: replayed, History: timeline.History{LSN: replayed}, SynchronousStandbyNames: `ANY 1 ("db-1", "db-2")`}
	}
	writes := func(streaming ...string) *server {
		s := standby(10)
		s.InRecovery, s.Waiting, s.Streaming = false, false, streaming
		return s
	}
	announced := func(c *cluster) {
		c.record.Announced = &v1.Announced{Member: "db-1", Promotion: v1.Promotion{Number: 2}}
	}
	for name, test := range map[string]struct {
		servers map[string]*server
		change  func(*cluster)
		reason  string
		says    string
	}{
		"all have answered":                          {servers: map[string]*server{"db-0": standby(10), "db-1": standby(10), "db-2": standby(8)}},
		"one does not answer":                        {servers: map[string]*server{"db-0": standby(10), "db-1": standby(10)}, reason: ReasonAdopting, says: "do not answer yet"},
		"one replays":                                {servers: map[string]*server{"db-0": standby(10), "db-1": standby(10), "db-2": {InRecovery: true, Slot: "promotion_1_x"}}, reason: ReasonAdopting, says: "have not replayed"},
		"a standby has more than the primary":        {servers: map[string]*server{"db-0": standby(10), "db-1": standby(12), "db-2": standby(8)}, reason: ReasonAdoptionRefused, says: "db-1 has more of the log"},
		"one has a later timeline":                   {servers: map[string]*server{"db-0": standby(10), "db-1": standby(10), "db-2": {InRecovery: true, Waiting: true, Timeline: 3, Slot: "promotion_1_x"}}, reason: ReasonAdoptionRefused, says: "db-2 has more of the log"},
		"the primary writes, and one acknowledges":   {servers: map[string]*server{"db-0": writes("db-1")}},
		"the primary writes, and nobody follows":     {servers: map[string]*server{"db-0": writes()}, reason: ReasonAdopting, says: "do not answer yet"},
		"the primary writes, and the others are up":  {servers: map[string]*server{"db-0": writes(), "db-1": standby(10), "db-2": standby(8)}},
		"a promotion was announced, and not begun":   {servers: map[string]*server{"db-0": writes("db-1")}, change: announced},
		"it was announced, and the primary is alone": {servers: map[string]*server{"db-0": writes()}, change: announced, reason: ReasonAdopting, says: "do not answer yet"},
		"it was begun":                               {servers: map[string]*server{"db-0": standby(10), "db-1": {InRecovery: true, Waiting: true, Timeline: 3, Slot: "promotion_2_x"}, "db-2": standby(8)}, change: announced},
	} {
		c := threeMembers()
		c.record.Adopting, c.record.Promotions, c.record.SystemIdentifier = true, 2, "1"
		c.record.Promotion.Timeline = 2
		c.servers = test.servers
		if test.change != nil {
			test.change(c)
		}
		data, err := json.Marshal(recordOf(c.record))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.record.Voters {
			c.claims[name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{labelOf: "u", labelMember: name}, Annotations: map[string]string{annotationRecord: string(data)},
			}}
		}
		o := c.adopt()
		switch {
		case test.reason == "" && (o != nil || c.record.Adopting):
			t.Errorf("%s: the outcome is %+v", name, o)
		case test.reason != "" && (o == nil || o.Reason != test.reason || !strings.Contains(o.Message, test.says)):
			t.Errorf("%s: the outcome is %+v, want %s: %s", name, o, test.reason, test.says)
		case test.reason != "" && !c.record.Adopting:
			t.Errorf("%s: the record is taken for what is", name)
		}
	}
}

// A status that was lost is not replaced by a first member's, if claims of the PostgresCluster's own
// do not record who was primary.
func TestOwnClaimsWithoutRecord(t *testing.T) {
	t.Parallel()
	own := func(c *cluster, names ...string) {
		for _, name := range names {
			c.claims[name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelOf: "u", labelMember: name}}}
		}
	}
	for name, test := range map[string]struct {
		claims []string
		says   string
	}{
		"there are none":      {},
		"the first is seeded": {claims: []string{"db-0"}},
		"another one":         {claims: []string{"db-0", "db-1"}, says: "claim db-1"},
		"another one alone":   {claims: []string{"db-2"}, says: "claim db-2"},
	} {
		c := threeMembers()
		c.record = &v1.PostgresClusterStatus{}
		own(c, test.claims...)
		switch o := c.recall(); {
		case (o != nil) != (test.says != ""), o != nil && (o.Reason != ReasonAdoptionRefused || !strings.Contains(o.Message, test.says)):
			t.Errorf("%s: the outcome is %+v, want %q", name, o, test.says)
		}
	}
}

// withoutClaims is a cache that has no claim yet.
type withoutClaims struct{ client.Reader }

// Get implements client.Reader.
func (r withoutClaims) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if _, claim := object.(*corev1.PersistentVolumeClaim); claim {
		return apierrors.NewNotFound(corev1.Resource("persistentvolumeclaims"), key.Name)
	}
	return r.Reader.Get(ctx, key, object, opts...)
}

// Whose data is there is asked of the API as long as nobody is known to have any: initdb runs for
// nobody whose claim the cache does not have yet.
func TestUnseenClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.foreign("PersistentVolumeClaim", "db-2")
	w.reconciler.Reader = withoutClaims{admin}
	seen := func() bool {
		c, err := w.reconciler.read(t.Context(), w.key())
		w.must(err)
		return c.claims["db-2"] != nil
	}
	if !seen() {
		t.Error("a claim that the API has is not seen")
	}
	w.get().Status.SystemIdentifier, w.object.Status.ObservedGeneration = "1", 1
	w.must(admin.Status().Update(t.Context(), w.object))
	if seen() {
		t.Error("the API is asked for claims of a cluster that is known")
	}
}
