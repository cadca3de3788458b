package member_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/util/wait"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/membertest"
)

// A server is a member with its claim, and who operates it.
type server struct {
	t                     *testing.T
	name, volume, address string
	process               *membertest.Process
}

func newServer(t *testing.T, name, address string) *server {
	return &server{t: t, name: name, volume: membertest.Volume(t), address: address}
}

func (s *server) start(verb member.Verb, env ...string) *server {
	s.t.Helper()
	s.process = membertest.Start(s.t, verb, s.volume, s.address, append(env, member.EnvName+"="+s.name)...)
	return s
}

// join has it join a primary, as the operator does: with a slot there.
func (s *server) join(primary *server, promotion, from int64) *server {
	s.t.Helper()
	slot := member.Slot(promotion, s.name)
	primary.sql("SELECT pg_create_physical_replication_slot('" + slot + "', true) WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '" + slot + "')")
	s.start(member.Join, member.EnvPrimary+"="+primary.address, member.EnvSystemIdentifier+"="+primary.value("SELECT system_identifier FROM pg_control_system()"),
		fmt.Sprintf("%s=%d", member.EnvPromotion, promotion), fmt.Sprintf("%s=%d", member.EnvPromotedFrom, from))
	return s
}

// promote makes it the primary of a promotion.
func (s *server) promote(promotion int64) {
	s.t.Helper()
	s.sql("ALTER SYSTEM SET primary_conninfo = ''")
	s.sql("ALTER SYSTEM SET primary_slot_name = '" + member.Slot(promotion, s.name) + "'")
	s.sql("SELECT pg_reload_conf()")
	s.sql("SELECT pg_promote()")
	s.sql("CHECKPOINT")
}

// connect waits until it takes connections.
func (s *server) connect() *pgx.Conn {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := membertest.Connect(ctx, s.address)
		if err == nil {
			return conn
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%s takes no connections: %v", s.name, err)
		case <-s.process.Done():
			s.t.Fatalf("%s ended: %s", s.name, s.process.Message())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *server) sql(statement string) {
	s.t.Helper()
	conn := s.connect()
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(s.t.Context(), statement); err != nil {
		s.t.Fatalf("%s: %s: %v", s.name, statement, err)
	}
}

// copiedAgain is what a member logs before it drops its data for a base backup.
const copiedAgain = "copying the data again"

// value is what a query says that has one text; what went wrong if it could not be asked.
func (s *server) value(query string) string {
	s.t.Helper()
	conn := s.connect()
	defer func() { _ = conn.Close(context.Background()) }()
	var value any
	if err := conn.QueryRow(s.t.Context(), query).Scan(&value); err != nil {
		return err.Error()
	}
	return fmt.Sprint(value)
}

// says waits until a query says this.
func (s *server) says(query, want string) {
	s.t.Helper()
	var got string
	if err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		got = s.value(query)
		return got == want, nil
	}); err != nil {
		s.t.Fatalf("%s: %s is %s, not %s", s.name, query, got, want)
	}
}

// logs waits until the member's log has these words.
func (s *server) logs(words string) {
	s.t.Helper()
	if err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return strings.Contains(s.process.Log(), words), nil
	}); err != nil {
		s.t.Fatalf("%s does not log %q", s.name, words)
	}
}

// ended waits until it ended by itself, and asserts why.
func (s *server) ended(want string) {
	s.t.Helper()
	select {
	case <-s.process.Done():
	case <-time.After(time.Minute):
		s.t.Fatalf("%s does not end", s.name)
	}
	if message := s.process.Message(); !strings.HasPrefix(message, want) {
		s.t.Fatalf("%s says %q, want %s", s.name, message, want)
	}
}

const rows = "SELECT coalesce(string_agg(v, ',' ORDER BY v), '') FROM t"

// aPair is a primary of promotion 1 with a table, and a standby of it.
func aPair(t *testing.T, subnet int) (primary, standby *server) {
	t.Helper()
	primary = newServer(t, "db-0", fmt.Sprintf("127.3.%d.1", subnet)).start(member.Seed)
	if got := primary.value("SELECT pg_is_in_recovery()"); got != "true" {
		t.Fatalf("a member that was seeded is in recovery: %s", got)
	}
	primary.promote(1)
	primary.sql("CREATE TABLE t (v text)")
	primary.sql("INSERT INTO t VALUES ('a')")
	standby = newServer(t, "db-1", fmt.Sprintf("127.3.%d.2", subnet)).join(primary, 1, 0)
	standby.says(rows, "a")
	return primary, standby
}

// The life of a pair: killed, started again, promoted, and the old primary comes back.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, standby := aPair(t, 1)

	// A standby that was killed follows again, on the data that it has.
	standby.process.Kill()
	primary.sql("INSERT INTO t VALUES ('b')")
	standby.join(primary, 1, 0).says(rows, "a,b")
	if strings.Contains(standby.process.Log(), copiedAgain) {
		t.Error("it copied what it had")
	}

	// What the primary wrote alone is gone when it comes back, by pg_rewind.
	standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
	standby.sql("SELECT pg_reload_conf()")
	standby.says("SELECT count(*) FROM pg_stat_wal_receiver", "0")
	primary.sql("INSERT INTO t VALUES ('lost')")
	primary.process.Kill()
	standby.promote(2)
	standby.sql("INSERT INTO t VALUES ('c')")
	primary.join(standby, 2, 1).says(rows, "a,b,c")
	if !strings.Contains(primary.process.Log(), "pg_rewind: Done!") {
		t.Error("it was not rewound")
	}
	if slot := primary.value("SHOW primary_slot_name"); member.PromotionOf(slot) != 2 {
		t.Errorf("it follows by the slot %s", slot)
	}
}

// Data of a promotion that the primary does not descend from is copied again: its
// timeline has the same number, and pg_rewind could not tell.
func TestJoinAfterAnotherPromotion(t *testing.T) {
	t.Parallel()
	primary, standby := aPair(t, 2)
	standby.process.Kill()
	standby.start(member.Run)
	standby.promote(2) // announced, and given up
	standby.sql("INSERT INTO t VALUES ('astray')")
	standby.process.Stop()
	primary.process.Stop()
	primary.start(member.Run)
	primary.promote(3)
	standby.join(primary, 3, 1).says(rows, "a")
	if !strings.Contains(standby.process.Log(), copiedAgain) {
		t.Error("it was not copied again")
	}
}

// A pg_rewind that was interrupted leaves data that nobody may use.
func TestJoinAfterInterruptedRewind(t *testing.T) {
	t.Parallel()
	primary, standby := aPair(t, 3)
	standby.process.Stop()
	if out, err := exec.Command("touch", standby.volume+"/data.rewinding").CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	standby.join(primary, 1, 0).says(rows, "a")
	if !strings.Contains(standby.process.Log(), copiedAgain) {
		t.Error("it was not copied again")
	}
}

// The two newest base backups are kept, one that was interrupted is not, and the newest is
// what a member without data is restored from.
func TestBackup(t *testing.T) {
	t.Parallel()
	primary, _ := aPair(t, 6)
	backups := membertest.Volume(t)
	identifier := primary.value("SELECT system_identifier FROM pg_control_system()")
	env := []string{member.EnvBackups + "=" + backups, member.EnvSystemIdentifier + "=" + identifier, member.EnvPrimary + "=" + primary.address}
	restored := newServer(t, "db-2", "127.3.6.3")
	restored.start(member.Restore, env...).ended(member.NoData)
	for n := range 3 {
		if n == 2 { // an earlier one was interrupted
			if out, err := exec.Command("mkdir", backups+"/"+identifier+"/2000-01-01.unfinished").CombinedOutput(); err != nil {
				t.Fatal(string(out))
			}
			primary.sql("INSERT INTO t VALUES ('b')")
		}
		backup := newServer(t, "backup", "127.3.6.4").start(member.Backup, env...)
		<-backup.process.Done()
		if !backup.process.Succeeded() {
			t.Fatal(backup.process.Message())
		}
	}
	entries, err := os.ReadDir(backups + "/" + identifier)
	if err != nil || len(entries) != 2 {
		t.Errorf("there are %v (%v)", entries, err)
	}
	restored.start(member.Restore, env...).says(rows, "a,b")
	if got := restored.value("SELECT pg_is_in_recovery()"); got != "true" {
		t.Errorf("a member that was restored is in recovery: %s", got)
	}
}

// SIGTERM ends it although a client is connected.
func TestStop(t *testing.T) {
	t.Parallel()
	s := newServer(t, "db-0", "127.3.4.1").start(member.Seed)
	conn := s.connect()
	defer func() { _ = conn.Close(context.Background()) }()
	s.process.Stop()
	if message := s.process.Message(); message != "" {
		t.Errorf("it says %q", message)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	t.Run("no data", func(t *testing.T) {
		newServer(t, "db-0", "127.3.5.1").start(member.Run).ended(member.NoData)
	})
	t.Run("the data of another cluster", func(t *testing.T) {
		s := newServer(t, "db-0", "127.3.5.2").start(member.Seed)
		s.connect()
		s.process.Stop()
		s.start(member.Run, member.EnvSystemIdentifier+"=42").ended(member.DataForeign)
	})
	t.Run("no primary", func(t *testing.T) {
		newServer(t, "db-0", "127.3.5.3").start(member.Join, member.EnvPrimary+"=127.3.5.9", member.EnvSystemIdentifier+"=42",
			member.EnvPromotion+"=1", member.EnvPromotedFrom+"=0").ended(member.JoinFailed)
	})
	t.Run("no argument that it knows", func(t *testing.T) {
		newServer(t, "db-0", "127.3.5.4").start("promote").ended(member.Misconfigured)
	})
	t.Run("no space left", func(t *testing.T) {
		s := newServer(t, "db-0", "127.3.5.5")
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m,mode=0777", "tmpfs", s.volume).CombinedOutput(); err != nil {
			t.Fatalf("a small file system needs root: %s", out)
		}
		defer func() {
			s.process.Kill()
			if out, err := exec.Command("umount", s.volume).CombinedOutput(); err != nil {
				t.Errorf("%s", out)
			}
		}()
		s.start(member.Seed).ended(member.DiskFull)
	})
	t.Run("another member on the same claim", func(t *testing.T) {
		s := newServer(t, "db-0", "127.3.5.6").start(member.Seed)
		s.connect()
		first := s.process
		s.start(member.Run)
		s.logs("waiting for processes of an earlier member")
		if strings.Contains(s.process.Log(), "LOG:") {
			t.Error("PostgreSQL was started twice on the same data")
		}
		first.Stop()
		s.connect()
	})
}
