//go:build linux

package jvm

import (
	"encoding/binary"
	"testing"
)

type counter struct {
	name, text string
	number     int64
}

// counterFile encodes performance counters as HotSpot does on a little-endian machine.
func counterFile(counters ...counter) []byte {
	order := binary.LittleEndian
	file := []byte{0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1}
	file = append(file, make([]byte, 16)...)
	file = order.AppendUint32(file, 32)
	file = order.AppendUint32(file, uint32(len(counters)))
	for _, c := range counters {
		name := append([]byte(c.name), 0)
		name = append(name, make([]byte, -(20+len(name))&7)...)
		kind, vector, value := byte('J'), uint32(0), order.AppendUint64(nil, uint64(c.number))
		if c.text != "" {
			kind, vector, value = 'B', uint32(len(c.text)+1), append([]byte(c.text), make([]byte, 8-len(c.text)&7)...)
		}
		offset := uint32(20 + len(name))
		file = order.AppendUint32(file, offset+uint32(len(value)))
		file = order.AppendUint32(file, 20)
		file = order.AppendUint32(file, vector)
		file = append(file, kind, 0, 0, 0)
		file = order.AppendUint32(file, offset)
		file = append(append(file, name...), value...)
	}
	return file
}

func TestCounters(t *testing.T) {
	generation := func(n, most string, used, limit int64) []counter {
		return []counter{{name: "sun.gc.generation." + n + ".maxCapacity", number: limit}, {name: "sun.gc.generation." + n + ".space." + most + ".used", number: used}, {name: "sun.gc.generation." + n + ".space." + most + ".maxCapacity", number: 1 << 40}}
	}
	both := append(generation("0", "0", 10, 300), generation("1", "0", 20, 700)...)
	collector := func(name string, invocations int64) []counter {
		return []counter{{name: "sun.gc.collector.0.name", text: name}, {name: "sun.gc.collector.0.invocations", number: invocations}}
	}
	for name, tc := range map[string]struct {
		counters    []counter
		used, limit int64
		known       bool
	}{
		"Serial":              {counters: append(collector("Copy", 1), append(both, counter{name: "sun.gc.generation.0.space.2.capacity", number: 30})...), used: 30, limit: 970, known: true},
		"G1":                  {counters: append(collector("G1 young collection pauses", 1), both...), used: 30, limit: 700, known: true},
		"before a collection": {counters: append(collector("Copy", 0), both...), used: 30, limit: 1000},
		"without any":         {},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parseCounterFile(counterFile(tc.counters...))
			if err != nil {
				t.Fatal(err)
			}
			used, known := c.liveHeap()
			if limit := c.maxHeap(); used != tc.used || known != tc.known || limit != tc.limit {
				t.Errorf("%d of %d are used, known %v; want %d of %d, %v", used, limit, known, tc.used, tc.limit, tc.known)
			}
		})
	}
}
