// Package text bounds what others said before it becomes part of a condition or
// an event.
package text

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// escapes are the sequences that color a terminal, among others.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// Clean returns s as valid UTF-8, without colors and without characters that would
// make a terminal show something else than what is there. Lines stay.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case terminal.Obeys(r):
			return '?'
		}
		return r
	}, s)
}

// Cut returns at most limit bytes of what Clean makes of s.
func Cut(s string, limit int) string {
	s = Clean(s)
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(s[:max(0, limit-len(ellipsis))], "") + ellipsis
}

// NoteLimit is how long the API server lets the note of an Event be, in bytes (ValidateEvent in
// the validation of events.k8s.io).
const NoteLimit = 1024

// Note returns what the API server takes of s as the note of an Event.
func Note(s string) string { return Cut(s, NoteLimit) }

// Line returns the first line of s, without the period at its end, cut to limit
// bytes.
func Line(s string, limit int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(Clean(s)), "\n")
	return Cut(strings.TrimRight(s, ". \r"), limit)
}

// Denied reports whether an admission policy or webhook refused something. A webhook
// denies "the request", a ValidatingAdmissionPolicy just "request"; the status that it
// denies with is the policy's choice.
func Denied(err error) bool {
	return strings.Contains(err.Error(), "denied the request") || strings.Contains(err.Error(), "denied request")
}

// Denial is what the API server, or a policy behind it, said when it refused
// something: a line without the object's name before it.
func Denial(err error) string {
	said := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		said = status.Status().Message
	}
	if _, after, ok := strings.Cut(said, "is forbidden: "); ok {
		said = after
	}
	return Line(said, 250)
}
