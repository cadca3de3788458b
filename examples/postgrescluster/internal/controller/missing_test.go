package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// threeMembers is a cluster of db-0, the primary, db-1 and db-2, whose pods run and do not answer.
func threeMembers() *cluster {
	c := &cluster{
		password: "x", now: time.Unix(1e6, 0), services: map[string]*corev1.Service{}, claims: map[string]*corev1.PersistentVolumeClaim{},
		pods: map[string]*corev1.Pod{}, servers: map[string]*server{}, refusals: map[string]*pgconn.PgError{},
		object: &v1.PostgresCluster{ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "u"}, Spec: v1.PostgresClusterSpec{
			Size: 3, FailoverDelay: &metav1.Duration{Duration: time.Second},
		}},
		record: &v1.PostgresClusterStatus{
			Primary: "db-0", Promotion: &v1.Promotion{Number: 1}, Voters: []string{"db-0", "db-1", "db-2"},
			PrimaryLostTime: &metav1.Time{Time: time.Unix(1, 0)},
		},
	}
	for _, name := range c.record.Voters {
		c.pods[name] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{UID: "u", Controller: new(true)}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning},
		}
	}
	return c
}

// exits has a member's pod end with a termination message.
func (c *cluster) exits(name, message string) {
	c.pods[name].Status.Phase = corev1.PodFailed
	c.pods[name].Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: message}}}}
}

// Whoever a person can help is named in place of the quorum that is missing for it, where commits
// wait and where nobody can be promoted.
func TestWhyQuorumIsMissing(t *testing.T) {
	t.Parallel()
	const full, wrong = "DiskFull: The claim has no space left", "password authentication failed"
	for name, test := range map[string]struct {
		lost   func(c *cluster)
		reason string
		says   string
	}{
		"nobody can be helped":               {func(*cluster) {}, ReasonQuorumMissing, "standbys"},
		"the second standby's claim is full": {func(c *cluster) { c.exits("db-2", full) }, member.DiskFull, "db-2 exited: The claim has no space left"},
		"a standby has another password":     {func(c *cluster) { c.refusals["db-2"] = &pgconn.PgError{Code: "28P01", Message: wrong} }, ReasonSQLError, "db-2 rejects the operator: " + wrong},
		"what lasts is named before what may pass": {func(c *cluster) {
			c.exits("db-1", "JoinFailed: The data could not be copied")
			c.exits("db-2", full)
		}, member.DiskFull, "db-2 exited"},
		"a member that was killed is soon back": {func(c *cluster) { c.exits("db-1", "") }, ReasonQuorumMissing, "standbys"},
		"pods are refused": {func(c *cluster) {
			delete(c.pods, "db-2")
			c.kept = fails(ReasonObjectRefused, nil, "The API server rejected the pod db-2: no pods today")
		}, ReasonObjectRefused, "no pods today"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(when string, o *statemachine.Outcome) {
				t.Helper()
				if o == nil || o.Reason != test.reason || !strings.Contains(o.Message, test.says) {
					t.Errorf("%s: the outcome is %+v, want %s, of %q", when, o, test.reason, test.says)
				}
			}
			c := threeMembers()
			test.lost(c)
			_, o := c.failoverTarget()
			check("nobody can be promoted", o)

			c = threeMembers()
			test.lost(c)
			c.servers["db-0"] = &server{Slot: "promotion_1_db_0", SynchronousStandbyNames: synchronousStandbyNames(c.record.Voters, "db-0")}
			check("commits wait", c.quorumMissing())
		})
	}
	t.Run("the primary's claim is full", func(t *testing.T) {
		t.Parallel()
		c := threeMembers()
		c.exits("db-0", full)
		if _, o := c.failoverTarget(); o == nil || o.Reason != member.DiskFull || !strings.Contains(o.Message, "db-0") {
			t.Errorf("the outcome is %+v", o)
		}
	})
}
