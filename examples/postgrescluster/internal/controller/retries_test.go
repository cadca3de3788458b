package controller

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// data is the data directory of a member.
func (k *kubelet) data(name string) string {
	k.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := admin.Get(k.t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, claim); err != nil {
		k.t.Fatal(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return filepath.Join(k.volumes[claim.UID], "data")
}

// A member that does not do what it is told, by statements that succeed, is told so less and less
// often: while it is to follow the primary, and while it is to take the primary's place.
func TestRetriesArePaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.completes(2)
	// It reloads nothing: a file of settings has an error.
	path := filepath.Join(w.kubelet.data("db-1"), "postgresql.conf")
	settings, err := os.ReadFile(path)
	w.must(err)
	w.must(os.WriteFile(path, append(settings, "no setting\n"...), 0o600))
	const told = "sql set primary_conninfo on db-1"
	w.kubelet.kill("db-0", false)
	w.until("a promotion", func(s *v1.PostgresClusterStatus) bool { return s.Promotion.Number == 2 && s.Announced == nil })
	w.retries(12, told, "it is to follow the primary")
	w.kubelet.kill("db-0", true)
	w.losesPrimary()
	w.until("db-1, announced", func(s *v1.PostgresClusterStatus) bool { return s.Announced != nil })
	w.retries(12, told, "it is to take the primary's place")
	if s := w.object.Status; s.Primary != "db-0" || s.Announced == nil {
		t.Errorf("the primary is %s, announced %+v", s.Primary, s.Announced)
	}
	w.must(os.WriteFile(path, settings, 0o600))
	w.kubelet.release("db-0")
	w.passes(time.Minute)
	w.completes(2)
}

// A member that is copied time and again in one promotion waits for longer each time, and for the next
// promotion it does not: that it has to follow anew shows nothing of the copies before.
func TestCopiesArePacedInAPromotion(t *testing.T) {
	t.Parallel()
	p := newPacing()
	c := threeMembers()
	copies := func(move move) (copied bool) {
		p.move(c.moved("db-1", move), move, c.now, func() *statemachine.Outcome { copied = true; return nil })
		return copied
	}
	for range 5 {
		for !copies(joinAgain) {
			c.now = c.now.Add(time.Second)
		}
	}
	if waited := c.now.Sub(threeMembers().now); waited < 70*time.Second || copies(copyAfresh) {
		t.Errorf("five copies in one promotion waited for %s, and the sixth for nothing", waited)
	}
	c.record.Promotion.Number++
	if !copies(joinAgain) {
		t.Error("in the next promotion, the member waits for the copies before")
	}
}

// A copy that takes minutes and fails has not lived: a member is not copied again at once, for ever.
func TestFailedCopiesArePaced(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e6, 0)
	for message, replaced := range map[string]bool{
		member.JoinFailed + ": The data could not be copied from the primary": false,
		member.RestoreFailed + ": The base backup could not be copied":        false,
		member.DiskFull + ": The claim has no space left":                     false,
		member.PostgresEnded + ": PostgreSQL exited":                          true,
	} {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: message, StartedAt: metav1.NewTime(now.Add(-time.Hour)), FinishedAt: metav1.NewTime(now)},
		}}}}}
		if got := replaceable(pod, now, 0); got != replaced {
			t.Errorf("%s: replaced at once: %t, want %t", message, got, replaced)
		}
	}
}

// What the API server refuses is applied less and less often: a Service whose port was changed. It
// leads to the next primary all the same, which is looked at with FULL=1.
func TestRefusedServiceIsPaced(t *testing.T) {
	t.Parallel()
	members := 1
	if full() {
		members = 3
	}
	w := newWorld(t, int32(members))
	w.completes(members)
	service := &corev1.Service{}
	w.load("db-rw", service)
	service.Spec.Ports[0].Port++
	w.must(admin.Update(t.Context(), service))
	w.is("Synchronous", ReasonObjectRefused)
	w.retries(20, "apply postgrescluster-operator on db-rw", "the Service is refused")
	if full() {
		w.kubelet.kill("db-0", true)
		w.losesPrimary()
		w.until("another primary that -rw leads to", func(s *v1.PostgresClusterStatus) bool {
			return s.Primary != "db-0" && s.Reason == ReasonObjectRefused && w.labeled(rolePrimary) == s.Primary
		})
		w.kubelet.release("db-0")
	}
	w.must(admin.Delete(t.Context(), service))
	w.passes(time.Minute)
	w.completes(members)
}
