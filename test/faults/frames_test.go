package faults

import "encoding/binary"

// frames finds the payload in one direction of an upgraded connection: the content of
// standard streams, without the frames around it. It looks at each byte once.
type frames struct {
	spdy   bool
	header []byte
	// left is how many bytes of the frame are to come, and counted whether they are
	// payload, after skip bytes that are not.
	left, skip int
	counted    bool
}

// upTo returns how many bytes of p pass until k bytes of payload have passed, and how many
// of them were payload.
func (f *frames) upTo(p []byte, k int64) (n int, payload int64) {
	for n = range p {
		if payload == k && k > 0 {
			return n, payload
		}
		if f.next(p[n]) {
			payload++
		}
	}
	return len(p), payload
}

// next takes the next byte, and reports whether it is payload.
func (f *frames) next(b byte) bool {
	if f.left == 0 {
		f.header = append(f.header, b)
		if length, ok := f.length(); ok {
			f.left, f.header = length, f.header[:0]
		}
		return false
	}
	f.left--
	if f.skip > 0 {
		f.skip--
		return false
	}
	return f.counted
}

// length returns the length of the frame once its header is complete.
func (f *frames) length() (n int, ok bool) {
	if f.spdy {
		return f.lengthOfSPDY()
	}
	return f.lengthOfWebSocket()
}

// lengthOfSPDY: a data frame has its highest bit unset.
func (f *frames) lengthOfSPDY() (n int, ok bool) {
	h := f.header
	if len(h) < 8 {
		return 0, false
	}
	f.counted = h[0]&0x80 == 0
	return int(h[5])<<16 | int(h[6])<<8 | int(h[7]), true
}

// lengthOfWebSocket: RFC 6455, 5.2. The first byte of a message is the number of its stream.
func (f *frames) lengthOfWebSocket() (n int, ok bool) {
	h, need := f.header, 2
	if len(h) < need {
		return 0, false
	}
	n = int(h[1] & 0x7f)
	if n >= 126 {
		need += map[int]int{126: 2, 127: 8}[n]
	}
	if len(h) < need+maskSize(h) {
		return 0, false
	}
	switch n {
	case 126:
		n = int(binary.BigEndian.Uint16(h[2:]))
	case 127:
		n = int(binary.BigEndian.Uint64(h[2:]))
	}
	opcode := h[0] & 0x0f
	f.counted, f.skip = opcode < 8, 0
	if opcode == 1 || opcode == 2 {
		f.skip = 1
	}
	return n, true
}

func maskSize(header []byte) int {
	if header[1]&0x80 != 0 {
		return 4
	}
	return 0
}
