package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pglogrepl"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// For each number of standbys and each set of disconnected ones that suffices: the others
// cannot acknowledge a commit, and each acknowledged one is on a disconnected standby.
func TestCanFailOver(t *testing.T) {
	t.Parallel()
	for n := range 7 {
		var standbys []string
		for i := range n {
			standbys = append(standbys, memberName("db", i+1))
		}
		voters := append([]string{"db-0"}, standbys...)
		subsets := func(yield func([]string) bool) {
			for bits := range 1 << n {
				var subset []string
				for i, name := range standbys {
					if bits&(1<<i) != 0 {
						subset = append(subset, name)
					}
				}
				if !yield(subset) {
					return
				}
			}
		}
		possible := false
		for heard := range subsets {
			if !canFailOver(voters, "db-0", heard) {
				continue
			}
			possible = true
			if left := n - len(heard); left >= acknowledging(n) {
				t.Errorf("of %d standbys %v are heard, and the %d others still acknowledge commits", n, heard, left)
			}
			for acknowledged := range subsets {
				if len(acknowledged) >= acknowledging(n) && !slices.ContainsFunc(acknowledged, func(name string) bool { return slices.Contains(heard, name) }) {
					t.Errorf("of %d standbys %v are heard, and %v may have acknowledged", n, heard, acknowledged)
				}
			}
		}
		if possible != (n > 0) {
			t.Errorf("of %d standbys one can take the place of the primary: %t", n, possible)
		}
	}
}

func TestMembersOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size    int
		primary string
		voters  []string // by their positions
		want    string
	}{
		{3, "", nil, "[db-0 db-1 db-2]"},
		{1, "db-2", []string{"db-2", "db-0", "db-1"}, "[db-2]"},
		{2, "db-2", []string{"db-2", "db-0", "db-1"}, "[db-0 db-2]"},
		{2, "db-2", []string{"db-2", "db-1", "db-0"}, "[db-1 db-2]"},
		{3, "db-2", []string{"db-2", "db-1", "db-0"}, "[db-0 db-1 db-2]"},
		{3, "db-2", []string{"db-2", "db-0"}, "[db-0 db-1 db-2]"},
		{2, "db-4", []string{"db-4", "db-3"}, "[db-3 db-4]"},
	} {
		if got := fmt.Sprint(membersOf("db", test.size, test.primary, test.voters)); got != test.want {
			t.Errorf("of %d, with the primary %q and %v: %s, want %s", test.size, test.primary, test.voters, got, test.want)
		}
	}
}

// Who has the most of the log stays, and next voters, once they are announced.
func TestWanted(t *testing.T) {
	t.Parallel()
	c := &cluster{
		object: &v1.PostgresCluster{Spec: v1.PostgresClusterSpec{Size: 2}},
		record: &v1.PostgresClusterStatus{Primary: "db-0", Voters: []string{"db-0", "db-1", "db-2", "db-3"}, Promotion: &v1.Promotion{Number: 1}},
		pods:   map[string]*corev1.Pod{"db-0": {}, "db-1": {}, "db-2": {}, "db-3": {}},
		servers: map[string]*server{"db-0": {
			Slot: member.Slot(1, "db-0"), LSN: 100 << 20, Streaming: []string{"db-1", "db-2"},
			Flushed: map[string]pglogrepl.LSN{"db-1": 50 << 20, "db-2": 90 << 20},
		}},
	}
	c.object.Name = "db"
	if got := fmt.Sprint(c.wanted(), c.keepingUp()); got != "[db-0 db-2] [db-0 db-2]" {
		t.Errorf("the members that stay and those that keep up are %s", got)
	}
	c.record.NextVoters = []string{"db-0", "db-1"}
	if got := fmt.Sprint(c.wanted()); got != "[db-0 db-1]" {
		t.Errorf("announced are %v, and the members that stay are %s", c.record.NextVoters, got)
	}
	for position, want := range map[pglogrepl.LSN]bool{50 << 20: true, 51 << 20: false} {
		if got := c.have(c.record.NextVoters, position); got != want {
			t.Errorf("db-1 has the log up to 50 MB, and is enough for %s: %t", position, got)
		}
	}
	if c.have([]string{"db-0", "db-3"}, 0) {
		t.Error("db-3 does not stream, and is enough")
	}
}

// Voters change by one at a time. Who does not stream goes first.
func TestNextVoters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ voters, wanted, streaming, want []string }{
		{[]string{"a", "b"}, []string{"a", "b"}, []string{"a"}, []string{"a", "b"}},
		{[]string{"a"}, []string{"a", "b", "c"}, []string{"a"}, []string{"a"}},
		{[]string{"a"}, []string{"a", "b", "c"}, []string{"a", "b", "c"}, []string{"a", "b"}},
		{[]string{"a", "c"}, []string{"a", "b", "c"}, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		{[]string{"a", "b", "c", "d"}, []string{"a", "b"}, []string{"a", "b", "c", "d"}, []string{"a", "b", "c"}},
		{[]string{"a", "b", "c", "d"}, []string{"a", "b"}, []string{"a", "b", "d"}, []string{"a", "b", "d"}},
	} {
		if got := nextVoters(test.voters, test.wanted, test.streaming); !slices.Equal(got, test.want) {
			t.Errorf("after %v, of %v, while %v keep up: %v, want %v", test.voters, test.wanted, test.streaming, got, test.want)
		}
	}
}

func TestSynchronousStandbyNames(t *testing.T) {
	t.Parallel()
	for want, voters := range map[string][]string{
		"":                         {"db-0"},
		`ANY 1 ("db-1")`:           {"db-0", "db-1"},
		`ANY 1 ("db-1", "db-2")`:   {"db-2", "db-0", "db-1"},
		`ANY 2 ("a", "b", "db-1")`: {"db-0", "db-1", "b", "a"},
	} {
		if got := synchronousStandbyNames(voters, "db-0"); got != want {
			t.Errorf("of %v: %s, want %s", voters, got, want)
		}
	}
}

// A standby that was prepared for a promotion which was given up may be the only one with a
// commit. It cannot be promoted, so it does not count as disconnected.
func TestFailoverCountsOnlyPromotable(t *testing.T) {
	c := &cluster{
		object: &v1.PostgresCluster{Spec: v1.PostgresClusterSpec{Size: 3, FailoverDelay: &metav1.Duration{}}},
		record: &v1.PostgresClusterStatus{
			Primary: "db-0", Voters: []string{"db-0", "db-1", "db-2"}, Promotions: 3, Promotion: &v1.Promotion{Number: 1},
			Announced: &v1.Announced{Member: "db-0", Promotion: v1.Promotion{Number: 3, From: 1}},
		},
		servers: map[string]*server{
			"db-1": {InRecovery: true, Slot: member.Slot(2, "db-1"), LSN: 200},
			"db-2": {InRecovery: true, Slot: member.Slot(1, "db-2"), LSN: 100},
		},
	}
	if name, o := c.failoverTarget(); o == nil || o.Reason != ReasonQuorumMissing {
		t.Errorf("%s is promoted (%+v), without what only db-1 may have", name, o)
	}
}

// A promotion that was begun may have happened, unobserved, before the member restarted: what
// it wrote since is not what other standbys may have.
func TestBegunPromotionStands(t *testing.T) {
	t.Parallel()
	begun := v1.Announced{Member: "db-1", Promotion: v1.Promotion{Number: 2, From: 1, LSN: "0/500"}}
	c := &cluster{
		object: &v1.PostgresCluster{Spec: v1.PostgresClusterSpec{Size: 4, FailoverDelay: &metav1.Duration{}}},
		record: &v1.PostgresClusterStatus{
			Primary: "db-0", Voters: []string{"db-0", "db-1", "db-2", "db-3"}, Promotions: 2, Promotion: &v1.Promotion{Number: 1}, Announced: &begun,
		},
		servers: map[string]*server{
			"db-1": {InRecovery: true, Slot: member.Slot(2, "db-1"), LSN: 0x700},
			"db-2": {InRecovery: true, Slot: member.Slot(1, "db-2"), LSN: 0x400},
		},
	}
	if got, o := c.target(); o != nil || *got != begun {
		t.Errorf("announced is %+v (%+v), want %+v", got, o, begun)
	}
}

// Walreceivers stop at once; a long log takes its time to be replayed, and the end of that is not
// waited for until the backoff is over.
func TestReplayIsAwaitedAtLeisure(t *testing.T) {
	t.Parallel()
	a := v1.Announced{Member: "db-1", Promotion: v1.Promotion{Number: 2, From: 1}}
	c := &cluster{
		object: &v1.PostgresCluster{ObjectMeta: metav1.ObjectMeta{Name: "db"}},
		record: &v1.PostgresClusterStatus{Primary: "db-0", Voters: []string{"db-0", "db-1"}, Promotion: &v1.Promotion{Number: 1}, Announced: &a},
	}
	for want, s := range map[time.Duration]server{
		disconnectInterval: {InRecovery: true, Slot: member.Slot(1, "db-1"), Receiving: true, Waiting: true},
		0:                  {InRecovery: true, Slot: member.Slot(1, "db-1")},
	} {
		c.servers = map[string]*server{"db-1": &s}
		if o := (promote{Reconciler: &Reconciler{}}).disconnectStandbys(t.Context(), c, &a); o == nil || o.Reason != ReasonFailingOver || o.RetryAfter != want {
			t.Errorf("of %+v it is %+v, want to look again after %s", s, o, want)
		}
	}
	c.pods = map[string]*corev1.Pod{"db-1": {}}
	c.servers = map[string]*server{"db-1": {InRecovery: true, Slot: member.Slot(1, "db-1")}}
	before := c.key()
	if c.servers["db-1"].Waiting = true; c.key() == before {
		t.Error("the end of the replay changes nothing that an attempt depends on")
	}
}
