package faults

import (
	"encoding/binary"
	"testing"
)

// A stream is cut after exactly as many bytes of payload as asked for, however the frames
// are laid out and however they arrive.
func TestFrames(t *testing.T) {
	t.Parallel()
	webSocket := func(opcode byte, masked bool, payload int) []byte {
		frame := []byte{0x80 | opcode, 0}
		switch {
		case payload < 126:
			frame[1] = byte(payload)
		case payload < 1<<16:
			frame[1] = 126
			frame = binary.BigEndian.AppendUint16(frame, uint16(payload))
		default:
			frame[1] = 127
			frame = binary.BigEndian.AppendUint64(frame, uint64(payload))
		}
		if masked {
			frame[1] |= 0x80
			frame = append(frame, 1, 2, 3, 4)
		}
		return append(frame, make([]byte, payload)...)
	}
	spdy := func(control byte, payload int) []byte {
		return append([]byte{control, 0, 0, 1, 0, byte(payload >> 16), byte(payload >> 8), byte(payload)}, make([]byte, payload)...)
	}
	const ping, binaryMessage, continuation = 9, 2, 0
	for name, tc := range map[string]struct {
		spdy    bool
		frames  [][]byte
		payload int64
	}{
		"WebSocket, short":        {frames: [][]byte{webSocket(binaryMessage, true, 101), webSocket(ping, true, 5), webSocket(binaryMessage, false, 51)}, payload: 150},
		"WebSocket, long":         {frames: [][]byte{webSocket(binaryMessage, true, 301), webSocket(binaryMessage, false, 1<<16+1)}, payload: 300 + 1<<16},
		"WebSocket, in fragments": {frames: [][]byte{webSocket(binaryMessage, true, 101), webSocket(continuation, true, 50)}, payload: 150},
		"SPDY":                    {spdy: true, frames: [][]byte{spdy(0x80, 20), spdy(0, 100), spdy(0x80, 8), spdy(0, 0), spdy(0, 1<<16)}, payload: 100 + 1<<16},
	} {
		var all []byte
		for _, frame := range tc.frames {
			all = append(all, frame...)
		}
		for _, piece := range []int{1, 7, 4096, len(all)} {
			for _, k := range []int64{1, 2, 99, 100, 101, 149, tc.payload} {
				passed := passedUntil(&frames{spdy: tc.spdy}, all, piece, k)
				if _, payload := (&frames{spdy: tc.spdy}).upTo(passed, -1); payload != k {
					t.Errorf("%s, %d bytes at a time: cut after %d bytes of payload, want %d", name, piece, payload, k)
				}
			}
		}
	}
}

// passedUntil returns what passes of a stream that arrives in pieces, until k bytes of
// payload have.
func passedUntil(f *frames, all []byte, piece int, k int64) []byte {
	passed := 0
	for payload := int64(0); payload < k && passed < len(all); {
		n, more := f.upTo(all[passed:min(passed+piece, len(all))], k-payload)
		passed, payload = passed+n, payload+more
	}
	return all[:passed]
}
