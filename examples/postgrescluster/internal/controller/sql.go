package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// SQL is the kind of effect that a statement is.
const SQL effects.Kind = "sql"

// promoteTimeout is how long pg_promote waits for the end of recovery.
const promoteTimeout = 15 * time.Second

// A statement is one effect on a member; what says it in a word.
type statement struct{ what, sql string }

// execute has a member execute statements, each an effect of its own.
func (r *Reconciler) execute(ctx context.Context, c *cluster, name string, statements ...statement) error {
	if len(statements) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, promoteTimeout+answerTimeout)
	defer cancel()
	conn, err := connect(ctx, name, c.address(name), c.password)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, s := range statements {
		effect := effects.Effect{Kind: SQL, What: s.what, On: c.object.Namespace + "/" + name}
		if err := r.Seam(ctx, effect, func(ctx context.Context) error {
			_, err := conn.Exec(ctx, s.sql)
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

func literal(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }

// set returns an ALTER SYSTEM; reload makes it count.
func set(name, value string) statement {
	return statement{"set " + name, fmt.Sprintf("ALTER SYSTEM SET %s = %s", name, literal(value))}
}

var reload = statement{"reload", "SELECT pg_reload_conf()"}

// checkpoint comes to its end only after the checkpointer has read the settings that a new
// connection has: whether commits wait for standbys at all is what it publishes, not what
// synchronous_standby_names of a backend says (syncrep.c, SyncRepUpdateSyncStandbysDefined).
var checkpoint = statement{"checkpoint", "CHECKPOINT"}

// ensure returns a statement that fails where one of the rows of a query is false: functions such
// as pg_promote and pg_terminate_backend return that when their time is over.
func ensure(what, query, otherwise string) statement {
	return statement{what, fmt.Sprintf("DO $$ BEGIN IF EXISTS (SELECT FROM (%s) t(ok) WHERE NOT ok) THEN RAISE EXCEPTION %s; END IF; END $$", query, literal(otherwise))}
}

// disconnect stops streaming on a standby; the setting survives a restart.
func disconnect() []statement { return []statement{set("primary_conninfo", ""), reload} }

// follow points a standby to the primary. The slot is set first: with the address alone it
// would stream in a promotion that the slot does not name.
func follow(address, slot string) []statement {
	return []statement{set("primary_slot_name", slot), set("primary_conninfo", member.ConnectionTo(address)), reload}
}

// slots has a primary keep the log for these members, and for no others.
func slots(have []string, promotion int64, members []string) []statement {
	var statements []statement
	var wanted []string
	for _, name := range members {
		wanted = append(wanted, member.Slot(promotion, name))
	}
	for _, slot := range wanted {
		if !slices.Contains(have, slot) {
			statements = append(statements, statement{"create slot", "SELECT pg_create_physical_replication_slot(" + literal(slot) + ", true)"})
		}
	}
	for _, slot := range have {
		if !slices.Contains(wanted, slot) {
			statements = append(statements, dropSlot(slot))
		}
	}
	return statements
}

// dropSlot drops a slot, which a standby may use: it is disconnected, in the same statement,
// since it connects again at once, and may be quicker than the next statement.
func dropSlot(slot string) statement {
	return statement{"drop slot", fmt.Sprintf(`DO $$
BEGIN
	FOR attempt IN 1..10 LOOP
		PERFORM pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots WHERE active AND slot_name = %[1]s;
		BEGIN
			PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %[1]s;
			RETURN;
		EXCEPTION WHEN object_in_use THEN
			IF attempt = 10 THEN RAISE; END IF;
		END;
	END LOOP;
END $$`, literal(slot))}
}
