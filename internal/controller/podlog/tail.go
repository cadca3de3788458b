package podlog

import (
	"strings"
	"unicode/utf8"

	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxLog is the maximum length of a log in the schema, in bytes, which are never fewer
// than characters.
const maxLog = 4096

// tail returns the end of a log, as much as the status can hold, without keeping the rest of
// the log in memory.
func tail(log string) string {
	log = strings.TrimRight(text.Clean(log), "\n ")
	if len(log) <= maxLog {
		return strings.Clone(log)
	}
	const ellipsis = "…"
	log = log[len(log)-(maxLog-len(ellipsis)):]
	for !utf8.RuneStart(log[0]) {
		log = log[1:]
	}
	return ellipsis + log
}
