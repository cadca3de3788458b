//go:build linux

package jvm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListening(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   0: 00000000000000000000000001000000:24BC 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4 1 0 100 0 0 10 0
   9: broken
`
	want := []listener{{8080, "1"}, {443, "2"}, {9404, "4"}}
	if diff := cmp.Diff(want, parseListening([]byte(table)), cmp.AllowUnexported(listener{})); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}
