package member

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/timeline"
)

// wrongHistory returns why the data cannot be made to follow the primary with the WAL that it has;
// empty if it can. Numbers of promotions do not say it where somebody promoted a member by
// hand. What is compared are the histories of the timelines, as Patroni does it, the positions, and
// the checkpoint record, which tells timelines apart that began at one position.
func (c Config) wrongHistory(ctx context.Context, rewinds bool) (string, error) {
	own, checkpoint, err := c.history(ctx)
	if err != nil {
		return "", err
	}
	conn, err := c.connectToPrimary(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	primary, err := historyOf(ctx, conn)
	if err != nil {
		return "", err
	}
	wrong := own.Diverged(primary)
	if rewinds {
		// What it has beyond the end of its timeline is what pg_rewind takes away. The promotion that
		// it is taken to began a timeline of its own.
		if wrong = own.Foreign(primary); wrong == "" && own.Timeline == primary.Timeline {
			wrong = fmt.Sprintf("it is on timeline %d, as the primary, which began it later", own.Timeline)
		}
	}
	if end, ended := primary.End(checkpoint.Timeline); wrong != "" || ended && checkpoint.LSN >= end {
		return wrong, nil
	}
	return c.compareRecord(ctx, conn, checkpoint)
}

// history returns the history of the data, and where its latest checkpoint is.
func (c Config) history(ctx context.Context) (timeline.History, timeline.Switch, error) {
	control, err := c.control(ctx)
	if err != nil {
		return timeline.History{}, timeline.Switch{}, err
	}
	at := func(number, position string) timeline.Switch {
		n, _ := strconv.ParseInt(control[number], 10, 32)
		lsn, _ := pglogrepl.ParseLSN(control[position])
		return timeline.Switch{Timeline: int32(n), LSN: lsn}
	}
	checkpoint := at("Latest checkpoint's TimeLineID", "Latest checkpoint location")
	// A promotion writes it before its first checkpoint (xlog.c, CreateEndOfRecoveryRecord).
	last := at("Min recovery ending loc's timeline", "Minimum recovery ending location")
	if last.Timeline < checkpoint.Timeline || last.LSN < checkpoint.LSN {
		last = checkpoint
	}
	own := timeline.History{Timeline: last.Timeline, LSN: last.LSN}
	if own.Timeline > 1 {
		file, err := os.ReadFile(filepath.Join(c.data(), "pg_wal", timeline.FileName(own.Timeline)))
		if err != nil && !os.IsNotExist(err) { // without one it has no ancestor that could be the primary's
			return own, checkpoint, err
		}
		own.Ancestors = timeline.Parse(string(file))
	}
	return own, checkpoint, nil
}

// connectToPrimary connects as the operator does, with one of max_wal_senders.
func (c Config) connectToPrimary(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=%s dbname=postgres replication=database connect_timeout=5", c.Primary, Port, User))
	if err != nil {
		return nil, err
	}
	config.Password, config.DefaultQueryExecMode = c.Password, pgx.QueryExecModeSimpleProtocol
	return pgx.ConnectConfig(ctx, config)
}

// historyOf returns the history of a server.
func historyOf(ctx context.Context, conn *pgx.Conn) (timeline.History, error) {
	system, err := pglogrepl.IdentifySystem(ctx, conn.PgConn())
	if err != nil {
		return timeline.History{}, err
	}
	h := timeline.History{Timeline: system.Timeline, LSN: system.XLogPos}
	if h.Timeline > 1 {
		file, err := pglogrepl.TimelineHistory(ctx, conn.PgConn(), h.Timeline)
		if err != nil {
			return h, err
		}
		h.Ancestors = timeline.Parse(string(file.Content))
	}
	return h, nil
}

// checkpointRecord is the size of a checkpoint record: its header, that of its data, and the data.
const checkpointRecord = 24 + 2 + 88

// compareRecord says that the primary has another record where the data has its latest checkpoint:
// that has a time and the next transaction in it. Where the primary has that WAL no longer, the
// histories stand.
func (c Config) compareRecord(ctx context.Context, conn *pgx.Conn, checkpoint timeline.Switch) (string, error) {
	const segmentSize = 16 << 20
	offset := int64(checkpoint.LSN % segmentSize)
	// xlog_internal.h, XLogFileName.
	segment := fmt.Sprintf("%08X%08X%08X", checkpoint.Timeline, uint64(checkpoint.LSN)>>32, uint32(checkpoint.LSN)/segmentSize)
	file, err := os.Open(filepath.Join(c.data(), "pg_wal", segment))
	if os.IsNotExist(err) { // it was received on a later timeline
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	own := make([]byte, min(checkpointRecord, segmentSize-offset))
	if _, err := file.ReadAt(own, offset); err != nil {
		return "", err
	}
	var record []byte
	if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT pg_read_binary_file('pg_wal/%s', %d, %d, true)", segment, offset, len(own))).Scan(&record); err != nil || record == nil {
		return "", err
	}
	if !bytes.Equal(own, record) {
		return fmt.Sprintf("its checkpoint at %s of timeline %d is none of the primary's", checkpoint.LSN, checkpoint.Timeline), nil
	}
	return "", nil
}
