package helperapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// VerbServe runs a session: the helper sends Hello, then answers each Call with an Answer
// before it reads the next one. Each message is one line of JSON. The contents of the
// files for VerbStage follow the line of the Call, once an Answer has requested them. The
// session ends with the helper's standard input. The arguments are the SHA-256 of the
// jars that the session may stage and load: those of the operator that started it.
const VerbServe Verb = "serve"

// VerbDoor waits in an ephemeral container. Sessions are execs of VerbServe with
// ServeInDoor into that container.
const VerbDoor Verb = "door"

const (
	// ServeInDoor is the argument of VerbServe in a door.
	ServeInDoor = "--door"
	// DoorTarget is the environment variable with the ID of a door's target container:
	// the runtime's ID, without a scheme.
	DoorTarget = "JMX_ATTACH_TARGET"
	// DoorProgram is the helper in the operator's image. The agent's jars are in the
	// directory agent beside it.
	DoorProgram = "/jmx-attach"
)

const (
	// MaxCall is the maximum length of a Call's line, in bytes.
	MaxCall = 64 << 10
	// MaxAnswer is the maximum length of an Answer's line, in bytes.
	MaxAnswer = 256 << 10
)

// Hello describes the helper's container.
type Hello struct {
	// Version is the helper's version.
	Version string `json:"version"`
	// ContainerID is the runtime's ID, without a scheme. Empty if the container cannot
	// see it, for example in its own control group namespace.
	ContainerID string `json:"containerID,omitempty"`
	// Instance is <name>/<random>: the file name of the container's termination log,
	// which the kubelet gives other random characters at each start. Empty if the log is
	// not mounted.
	Instance string `json:"instance,omitempty"`
	// InitStartTime is the start time of process 1 of the PID namespace, in clock ticks
	// since boot; 0 if it cannot be read.
	InitStartTime uint64 `json:"initStartTime,omitempty"`
	// Files are the files that the helper has beside it: VerbStage uses these instead of
	// requesting their contents.
	Files []File `json:"files,omitempty"`
	// OptionNames reports that the helper knows ProcessRule.OptionName. An older one would
	// take a rule with nothing else for a rule that matches every process.
	OptionNames bool `json:"optionNames,omitempty"`
}

// Call requests one operation.
type Call struct {
	// ID differs from that of the previous Call.
	ID      int64   `json:"id"`
	Verb    Verb    `json:"verb"`
	Request Request `json:"request"`
}

// Answer is a message of the helper: first Hello; then, with the ID of a Call, its
// Report, possibly preceded by a request for the contents to stage.
type Answer struct {
	Hello *Hello `json:"hello,omitempty"`
	ID    int64  `json:"id,omitempty"`
	// Send is the number of bytes to send: the sum of the sizes of Request.Files, except
	// those in Hello.Files.
	Send   int64   `json:"send,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// ReadCall reads the line of a Call; io.EOF if there is none. It ignores unknown keys, so
// that an older helper understands a newer operator.
func ReadCall(r *bufio.Reader) (Call, error) {
	var call Call
	line, err := ReadLine(r, MaxCall)
	if err != nil {
		return call, err
	}
	if err := json.Unmarshal(line, &call); err != nil {
		return call, fmt.Errorf("the request is not JSON: %w", err)
	}
	return call, nil
}

// ErrLineTooLong is returned by ReadLine for a line beyond its limit.
var ErrLineTooLong = errors.New("a line is too long")

// ReadLine reads a line of at most limit bytes, without its newline; io.EOF if there is
// none. Text without a trailing newline is not a line.
func ReadLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+1 {
			return nil, ErrLineTooLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
