// Package timeline compares histories of the write-ahead log. A promotion begins a timeline, whose
// number is the next one that the member does not know: two promotions, of which neither knew of
// the other, begin two timelines of one number. Where each began its history file says
// (timeline.c); pg_rewind compares the numbers alone.
package timeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pglogrepl"
)

// A Switch is where a timeline ended that is an ancestor of another one.
type Switch struct {
	Timeline int32
	LSN      pglogrepl.LSN
}

// History is that of a log: the timeline that it is on, its ancestors from the oldest on, and the
// position up to which it is compared.
type History struct {
	Timeline  int32
	Ancestors []Switch
	LSN       pglogrepl.LSN
}

// Parse reads the ancestors from a history file. Lines that are none, such as comments, do not count.
func Parse(file string) []Switch {
	var ancestors []Switch
	for line := range strings.Lines(file) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		number, err := strconv.ParseInt(fields[0], 10, 32)
		lsn, errLSN := pglogrepl.ParseLSN(fields[1])
		if err == nil && errLSN == nil {
			ancestors = append(ancestors, Switch{int32(number), lsn})
		}
	}
	return ancestors
}

// FileName is the name of a timeline's history file in pg_wal.
func FileName(number int32) string { return fmt.Sprintf("%08X.history", number) }

// End is where a timeline ended in this history; false if it has not, or is none of it.
func (h History) End(number int32) (pglogrepl.LSN, bool) {
	i := slices.IndexFunc(h.Ancestors, func(s Switch) bool { return s.Timeline == number })
	if i < 0 {
		return 0, false
	}
	return h.Ancestors[i].LSN, true
}

// Foreign says why a log is on a timeline that is none of the primary's; empty if it is one of it.
// pg_rewind can do nothing with a log that is foreign.
func (h History) Foreign(primary History) string {
	_, ended := primary.End(h.Timeline)
	switch {
	case h.Timeline > primary.Timeline:
		return fmt.Sprintf("it is on timeline %d, and the primary only on %d", h.Timeline, primary.Timeline)
	case h.Timeline < primary.Timeline && !ended:
		return fmt.Sprintf("it is on timeline %d, from which timeline %d of the primary does not descend", h.Timeline, primary.Timeline)
	}
	i := slices.IndexFunc(primary.Ancestors, func(s Switch) bool { return s.Timeline == h.Timeline })
	if i < 0 {
		i = len(primary.Ancestors)
	}
	if !slices.Equal(h.Ancestors, primary.Ancestors[:i]) {
		return fmt.Sprintf("its timeline %d began at %s, and that of the primary at %s", h.Timeline, begin(h.Ancestors), begin(primary.Ancestors[:i]))
	}
	return ""
}

// Diverged says why a log is no prefix of the primary's, as far as histories say; empty if it is
// one. The primary's position is to be read after the other one.
func (h History) Diverged(primary History) string {
	if foreign := h.Foreign(primary); foreign != "" {
		return foreign
	}
	end, ended := primary.End(h.Timeline)
	if !ended {
		end = primary.LSN
	}
	if h.LSN > end {
		return fmt.Sprintf("on timeline %d it has WAL up to %s, and the primary only up to %s", h.Timeline, h.LSN, end)
	}
	return ""
}

func begin(ancestors []Switch) string {
	if len(ancestors) == 0 {
		return "the beginning"
	}
	last := ancestors[len(ancestors)-1]
	return fmt.Sprintf("%s of timeline %d", last.LSN, last.Timeline)
}
