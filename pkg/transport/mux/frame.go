// Package mux carries streams side by side over one pair of a reader and a writer: between
// the operator and its agent on a node, over one exec. It imports neither Kubernetes nor
// package net, since the helper contains it, whose size counts.
//
// Each direction is a sequence of frames: the ID of a stream (4 bytes), the kind of the
// frame (1), the length of its payload (4, at most MaxPayload), and the payload. Numbers
// are big-endian. The client gives its streams ascending IDs.
//
//	open    begins a stream. The server answers with a credit of 0 at once.
//	data    is a part of its content, in one direction.
//	end     ends the content in one direction; the other one continues.
//	reset   ends the stream; the payload says why. Nothing may follow.
//	credit  allows as many more bytes of data as its payload says (4 bytes).
//
// In each direction, a stream may carry Window bytes to begin with, and what the reader
// took since. So whoever does not read keeps the sender of his own stream waiting, and
// nobody else; and a session holds at most Window bytes for each of its streams.
package mux

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// MaxPayload is the maximum length of a frame's payload, in bytes.
	MaxPayload = 64 << 10
	// Window is how many bytes of a stream may be unread, in each direction.
	Window = 128 << 10
	// headerSize is the length of a frame without its payload.
	headerSize = 9
	// maxReason limits the payload of a reset, in bytes.
	maxReason = 200
)

// kind is the kind of a frame.
type kind byte

const (
	kindOpen kind = 1 + iota
	kindData
	kindEnd
	kindReset
	kindCredit
)

// frame is a frame that was read.
type frame struct {
	id   uint32
	kind kind
	// payload is valid until the next frame is read.
	payload []byte
}

// reader reads frames.
type reader struct {
	from   io.Reader
	buffer []byte
}

// next reads the next frame: io.EOF between two frames, io.ErrUnexpectedEOF within one, and
// a *ProtocolError for what is no frame.
func (r *reader) next() (frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r.from, header[:]); err != nil {
		return frame{}, err
	}
	f := frame{id: binary.BigEndian.Uint32(header[:]), kind: kind(header[4])}
	length := binary.BigEndian.Uint32(header[5:])
	if err := check(f.kind, length); err != nil {
		return frame{}, err
	}
	if int(length) > len(r.buffer) {
		r.buffer = make([]byte, max(int(length), 4<<10))
	}
	f.payload = r.buffer[:length]
	if _, err := io.ReadFull(r.from, f.payload); err != nil {
		if err == io.EOF { // as ReadFull returns it
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	return f, nil
}

// check refuses a frame of an unknown kind, or with a length that its kind does not have.
func check(k kind, length uint32) error {
	var ok bool
	switch k {
	case kindOpen, kindEnd:
		ok = length == 0
	case kindData:
		ok = 0 < length && length <= MaxPayload
	case kindReset:
		ok = length <= maxReason
	case kindCredit:
		ok = length == 4
	}
	if !ok {
		return protocolErrorf("a frame of kind %d has %d bytes", k, length)
	}
	return nil
}

// appendFrame appends a frame.
func appendFrame(to []byte, id uint32, k kind, payload []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, id)
	to = append(to, byte(k))
	to = binary.BigEndian.AppendUint32(to, uint32(len(payload)))
	return append(to, payload...)
}

// appendCredit appends a frame that allows n more bytes.
func appendCredit(to []byte, id uint32, n int) []byte {
	return appendFrame(to, id, kindCredit, binary.BigEndian.AppendUint32(nil, uint32(n)))
}

// ProtocolError means that the peer does not speak this protocol.
type ProtocolError struct{ what string }

// Error returns what was received instead.
func (e *ProtocolError) Error() string { return "the multiplexed stream cannot be read: " + e.what }

func protocolErrorf(format string, args ...any) error {
	return &ProtocolError{fmt.Sprintf(format, args...)}
}
