package helperapi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// VerbServe holds a session: the helper says Hello, and then answers each Call with
// an Answer before it reads the next one. Each is one line of JSON. The contents of
// what VerbStage writes follow the line of its Call, once an Answer has asked for
// them. It ends with its standard input. Its arguments are the SHA-256 of the jars that
// it may stage and load: those of the operator that started it.
const VerbServe Verb = "serve"

// VerbDoor waits in an ephemeral container: sessions are execs of VerbServe with
// ServeInDoor into it.
const VerbDoor Verb = "door"

const (
	// ServeInDoor is the argument of VerbServe in a door.
	ServeInDoor = "--door"
	// DoorTarget is the environment variable that names the target container to a
	// door: the runtime's ID, without a scheme.
	DoorTarget = "JMX_ATTACH_TARGET"
	// DoorProgram is the helper in the operator's image. The agent's jars lie in the
	// folder agent beside it.
	DoorProgram = "/jmx-attach"
)

const (
	// MaxCall is the most bytes that the line of a Call may have.
	MaxCall = 64 << 10
	// MaxAnswer is the most bytes that the line of an Answer may have.
	MaxAnswer = 256 << 10
)

// Hello is what the helper knows of the container that it is in.
type Hello struct {
	// Version is the helper's.
	Version string `json:"version"`
	// ContainerID is the runtime's, without a scheme. Empty where the container does
	// not see it, as with a control group namespace of its own.
	ContainerID string `json:"containerID,omitempty"`
	// Instance is <name>/<random>: what the kubelet calls the container's termination
	// log, with other random characters at each start. Empty if it is not mounted.
	Instance string `json:"instance,omitempty"`
	// InitStartTime is when process 1 of the PID namespace started, in clock ticks
	// since boot; 0 if that cannot be read.
	InitStartTime uint64 `json:"initStartTime,omitempty"`
	// Files are those that the helper has beside it: Stage takes them from there, and
	// does not ask for their contents.
	Files []File `json:"files,omitempty"`
}

// Call asks for one operation.
type Call struct {
	// ID is another number than that of the Call before.
	ID      int64   `json:"id"`
	Verb    Verb    `json:"verb"`
	Request Request `json:"request"`
}

// Answer is what the helper says: Hello first; then, with the ID of a Call, its
// Report, before which it may ask for the contents to stage.
type Answer struct {
	Hello *Hello `json:"hello,omitempty"`
	ID    int64  `json:"id,omitempty"`
	// Send is how many bytes are to be sent: the sum of the sizes of Request.Files,
	// those in Hello.Files aside.
	Send   int64   `json:"send,omitempty"`
	Report *Report `json:"report,omitempty"`
}

// ReadCall reads the line of a Call; io.EOF when there is none. Unknown keys are
// ignored, so that an older helper understands a newer operator.
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

// ErrLineTooLong is the error of ReadLine for a line beyond its limit.
var ErrLineTooLong = errors.New("a line is too long")

// ReadLine reads a line of at most limit bytes, without its end; io.EOF when there is
// none. What ends without a newline is no line.
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
