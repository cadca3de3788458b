package member_test

import (
	"strconv"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// A primary one of whose processes was killed ends: by itself, it would recover and take writes
// again, before anybody has looked who is the primary.
func TestCrashedPrimary(t *testing.T) {
	t.Parallel()
	s := newServer(t, "db-0", "127.3.9.1").start(member.Seed)
	s.promote(1)
	pid, err := strconv.Atoi(s.value("SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.ended(member.PostgresEnded)
}
