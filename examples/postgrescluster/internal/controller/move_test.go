package controller

import (
	"testing"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// The primary db-0 was promoted as number 3, by a standby of number 2 that had the WAL up
// to 0/500.
func TestNextMove(t *testing.T) {
	t.Parallel()
	const primary, former = "host=10.0.0.1", "host=10.0.0.2"
	promotion := v1.Promotion{Number: 3, From: 2, LSN: "0/500"}
	slot := func(number int64) string { return member.Slot(number, "db-1") }
	for name, test := range map[string]struct {
		server server
		first  bool // the primary is of the first promotion
		lost   bool
		// diverged says that its history is not the primary's.
		diverged bool
		want     move
	}{
		"it follows":                                 {server: server{InRecovery: true, Slot: slot(3), Upstream: primary, Receiving: true}, want: stay},
		"it follows what does not fit":               {server: server{InRecovery: true, Slot: slot(3), Upstream: primary}, diverged: true, want: joinAgain},
		"it was disconnected":                        {server: server{InRecovery: true, Slot: slot(3)}, want: startStreaming},
		"its WAL is gone":                            {server: server{InRecovery: true, Slot: slot(3), Upstream: primary}, lost: true, want: copyAfresh},
		"it takes writes":                            {server: server{Slot: slot(2)}, want: joinAgain},
		"it may still stream from the former one":    {server: server{InRecovery: true, Slot: slot(2), Upstream: former, LSN: 0x400, Waiting: true}, want: stopStreaming},
		"its walreceiver is stopping":                {server: server{InRecovery: true, Slot: slot(2), Receiving: true, LSN: 0x400, Waiting: true}, want: stay},
		"it has less than the primary had":           {server: server{InRecovery: true, Slot: slot(2), LSN: 0x400, Waiting: true}, want: startStreaming},
		"it has as much":                             {server: server{InRecovery: true, Slot: slot(2), LSN: 0x500, Waiting: true}, want: startStreaming},
		"it has more":                                {server: server{InRecovery: true, Slot: slot(2), LSN: 0x501, Waiting: true}, want: joinAgain},
		"it may have more, and replays":              {server: server{InRecovery: true, Slot: slot(2), LSN: 0x400}, want: stay},
		"it is of a promotion before":                {server: server{InRecovery: true, Slot: slot(1), LSN: 0x100, Waiting: true}, want: joinAgain},
		"it is of a promotion that was not recorded": {server: server{InRecovery: true, Slot: slot(4), LSN: 0x100, Waiting: true}, want: joinAgain},
		"it is to be copied":                         {server: server{InRecovery: true, LSN: 0x100, Waiting: true}, first: true, want: joinAgain},
	} {
		p, lost := promotion, []string(nil)
		if test.first {
			p = v1.Promotion{Number: 1}
		}
		if test.lost {
			lost = []string{slot(3)}
		}
		if got := nextMove(&test.server, p, slot(p.Number), primary, lost, test.diverged); got != test.want {
			t.Errorf("%s: the move is %d, want %d", name, got, test.want)
		}
	}
}
