package configuration

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxMessage limits a message, which ends up in a condition, in characters.
const maxMessage = 300

// Reason classifies what is wrong with a configuration.
type Reason string

const (
	// ConfigNotYAML means that it is not a single YAML 1.1 document in UTF-8.
	ConfigNotYAML Reason = "ConfigNotYAML"
	// ConfigInvalid means that the exporter does not know a key, or cannot use its value.
	ConfigInvalid Reason = "ConfigInvalid"
	// ConfigForbidden means that it requests what an agent in a running application must
	// not or cannot do.
	ConfigForbidden Reason = "ConfigForbidden"
	// ConfigTooLarge means that it exceeds MaxSize, or becomes too large where its aliases
	// are expanded.
	ConfigTooLarge Reason = "ConfigTooLarge"
)

// Error is the error that Validate returns. It never contains a value of the
// configuration, or a key that is not the exporter's own: either may be a password.
type Error struct {
	Reason Reason
	// Line is the number of the line at fault, from 1, or 0 if there is none in particular.
	Line int
	// Message is a sentence on one line.
	Message string
}

// Error returns the message with its line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// clip joins the lines of a message and truncates it to maxMessage characters.
func clip(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if r := []rune(message); len(r) > maxMessage {
		return string(r[:maxMessage-1]) + "…"
	}
	return message
}

func tooLarge(line int, format string, args ...any) *Error {
	return &Error{Reason: ConfigTooLarge, Line: line, Message: clip(fmt.Sprintf(format, args...))}
}

func invalid(n *yaml.Node, format string, args ...any) *Error {
	return &Error{Reason: ConfigInvalid, Line: n.Line, Message: clip(fmt.Sprintf(format, args...))}
}
