package problem

import (
	"strings"
	"unicode/utf8"

	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxLog is what the schema takes of a log, in bytes, which are never fewer than
// its characters.
const maxLog = 4096

// tail is the end of a log, as much of it as the status may hold.
func tail(log string) string {
	log = strings.TrimRight(text.Clean(log), "\n ")
	if len(log) <= maxLog {
		return log
	}
	const ellipsis = "…"
	log = log[len(log)-(maxLog-len(ellipsis)):]
	for !utf8.RuneStart(log[0]) {
		log = log[1:]
	}
	return ellipsis + log
}
