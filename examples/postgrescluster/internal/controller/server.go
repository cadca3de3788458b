package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/timeline"
)

// answerTimeout is how long a member may take to answer before it counts as unreachable.
const answerTimeout = 3 * time.Second

// A server is what a member's PostgreSQL said of itself.
type server struct {
	InRecovery       bool
	SystemIdentifier string
	// Version is the one of the release, such as 15.18, without what a distribution adds.
	Version string
	// Timeline is the one of the log that a standby replayed last, or that a primary writes.
	Timeline int32
	// History has its ancestors, and the position up to which a standby replayed the log.
	History timeline.History
	// LSN is the position in the write-ahead log up to which it has it.
	LSN pglogrepl.LSN
	// Upstream is its primary_conninfo, Slot its primary_slot_name: the number of the
	// promotion that it follows, or was promoted by, is in it.
	Upstream, Slot string
	// Receiving reports whether a walreceiver runs; Waiting whether the log that it has is
	// replayed: only then LSN is all that it has.
	Receiving, Waiting bool
	// SynchronousStandbyNames is the setting.
	SynchronousStandbyNames string
	// Slots are the replication slots that it has for members, others' aside; Lost are those of which the log is gone.
	Slots, Lost []string
	// Streaming are the members that follow it; Flushed is up to where each has its log on disk.
	Streaming []string
	Flushed   map[string]pglogrepl.LSN
	// BackupTime is when the base backup was made that it began with; empty if it did not.
	BackupTime string
}

// promotion returns the number of the promotion that it follows, or was promoted by.
func (s *server) promotion() int64 { return member.PromotionOf(s.Slot) }

// observation is the query, but for the name of the history file.
const observation = `SELECT coalesce(pg_last_wal_replay_lsn(), '0/0')::text, coalesce(pg_read_file('pg_wal/%s', 0, 65536, true), ''), pg_is_in_recovery(), s.system_identifier::text, split_part(current_setting('server_version'), ' ', 1),
	CASE WHEN pg_is_in_recovery() THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), '0/0') ELSE pg_current_wal_flush_lsn() END::text,
	current_setting('primary_conninfo'), current_setting('primary_slot_name'),
	EXISTS (SELECT FROM pg_stat_wal_receiver),
	EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event IN ('RecoveryWalStream', 'RecoveryRetrieveRetryInterval')),
	current_setting('synchronous_standby_names'),
	ARRAY(SELECT slot_name::text FROM pg_replication_slots WHERE starts_with(slot_name::text, 'promotion_') ORDER BY 1),
	ARRAY(SELECT slot_name::text FROM pg_replication_slots WHERE wal_status = 'lost' ORDER BY 1),
	ARRAY(SELECT application_name || ' ' || coalesce(min(flush_lsn), '0/0') FROM pg_stat_replication WHERE state = 'streaming' GROUP BY application_name ORDER BY application_name),
	coalesce(substring(pg_read_file('backup_label.old', 0, 4096, true) from 'START TIME: ([^\n]*)'), '')
	FROM pg_control_system() s`

// observe asks a member.
func observe(ctx context.Context, name, address, password string) (*server, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := connect(ctx, name, address, password)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for {
		before, err := pglogrepl.IdentifySystem(ctx, conn.PgConn())
		if err != nil {
			return nil, err
		}
		s, err := observeOn(ctx, conn, before.Timeline)
		if err != nil {
			return nil, err
		}
		after, err := pglogrepl.IdentifySystem(ctx, conn.PgConn())
		if err != nil {
			return nil, err
		}
		// A standby that has followed to the next timeline meanwhile has WAL of that one: on the
		// former, it would seem to have diverged.
		if after.Timeline == before.Timeline {
			return s, nil
		}
	}
}

// observeOn asks a member that is on a timeline.
func observeOn(ctx context.Context, conn *pgx.Conn, number int32) (*server, error) {
	s := &server{Flushed: map[string]pglogrepl.LSN{}, Timeline: number}
	var streaming []string
	var history string
	if err := conn.QueryRow(ctx, fmt.Sprintf(observation, timeline.FileName(number))).Scan(&s.History.LSN, &history, &s.InRecovery, &s.SystemIdentifier, &s.Version, &s.LSN, &s.Upstream, &s.Slot,
		&s.Receiving, &s.Waiting, &s.SynchronousStandbyNames, &s.Slots, &s.Lost, &streaming, &s.BackupTime); err != nil {
		return nil, err
	}
	s.History.Timeline, s.History.Ancestors = number, timeline.Parse(history)
	for _, standby := range streaming {
		name, position, _ := strings.Cut(standby, " ")
		lsn, err := pglogrepl.ParseLSN(position)
		if err != nil {
			continue // a client of this application_name
		}
		s.Streaming, s.Flushed[name] = append(s.Streaming, name), lsn
	}
	return s, nil
}

// tooManyConnections is what a server says that has no connection left.
const tooManyConnections = "53300"

// refusal returns what a server that runs says against being asked; nil if it only starts, or
// does not answer at all.
func refusal(err error) *pgconn.PgError {
	const cannotConnectNow = "57P03"
	if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code != cannotConnectNow {
		return refused
	}
	return nil
}

// connect connects to a member. For a moment, its Service may lead to another one, whose pod has
// the address of a pod that is gone: what a member says and does counts in a failover, so that
// no other one may do it in its place.
//
// The connection is one of max_wal_senders: clients that are superusers, as the user of the Secret
// is, may take all of max_connections, those of superuser_reserved_connections included.
func connect(ctx context.Context, name, address, password string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=%s dbname=postgres sslmode=prefer application_name=postgrescluster-operator replication=database", address, member.Port, member.User))
	if err != nil {
		return nil, err
	}
	config.Password = password
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // the only one that a walsender knows
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	var answers string
	if err = conn.QueryRow(ctx, "SHOW cluster_name").Scan(&answers); err == nil && answers != name {
		err = fmt.Errorf("%s answers at the address of %s", answers, name)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}
