package member_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// Data that says that it follows the primary's promotion, and has a timeline of the primary's
// number that it began itself, at the same position, is copied again. What it had is kept once.
func TestDivergedDataIsCopied(t *testing.T) {
	t.Parallel()
	primary, standby := aPair(t, 31)
	aside := filepath.Join(standby.volume, "data.diverged")
	var kept os.FileInfo
	for promotion := int64(2); promotion <= 3; promotion++ {
		primary.process.Kill()
		standby.sql("ALTER SYSTEM SET primary_slot_name = '" + member.Slot(promotion, standby.name) + "'")
		standby.sql("SELECT pg_promote()")
		standby.sql("INSERT INTO t VALUES ('diverged')")
		standby.sql("CHECKPOINT")
		standby.process.Kill()
		primary.start(member.Run)
		primary.promote(promotion)
		standby.join(primary, promotion, promotion-1).says(rows, "a")
		standby.logs(copiedAgain)
		info, err := os.Stat(aside)
		if err != nil {
			t.Fatal(err)
		}
		if kept != nil && !os.SameFile(kept, info) {
			t.Error("what diverged second took the place of what diverged first")
		}
		kept = info
	}

	// What is no other history is used as it is.
	standby.process.Kill()
	standby.join(primary, 3, 2).says(rows, "a")
	if log := standby.process.Log(); strings.Contains(log, copiedAgain) {
		t.Error("data that is the primary's was copied again")
	}
}
