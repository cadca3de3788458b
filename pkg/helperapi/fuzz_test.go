package helperapi

import (
	"bufio"
	"bytes"
	"testing"
)

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\n\nb"), 1, 16)
	f.Add([]byte("\x00\xff\r\n"), 0, 0)
	f.Add(bytes.Repeat([]byte("x"), 5000), 4096, 4096)
	f.Fuzz(func(t *testing.T, stream []byte, limit, buffer int) {
		limit, buffer = limit&0xffff, buffer&0xffff
		r := bufio.NewReaderSize(bytes.NewReader(stream), buffer)
		for {
			line, err := ReadLine(r, limit)
			if err != nil {
				return
			}
			if len(line) > limit || bytes.Contains(line, []byte("\n")) {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
	})
}

func FuzzReadCall(f *testing.F) {
	f.Add([]byte(`{"id":7,"verb":"inspect","request":{"rules":[{"action":"Exclude"}]}}` + "\n"))
	f.Add([]byte(`{"id":1e400}` + "\n"))
	f.Fuzz(func(_ *testing.T, stream []byte) { _, _ = ReadCall(bufio.NewReader(bytes.NewReader(stream))) })
}

func FuzzFileDigest(f *testing.F) {
	for _, name := range []string{"agent-0123456789ab.jar", "jmx-attach-0123456789ab", "../agent-0123456789ab.jar", "config-.yaml"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if digest, ok := FileDigest(name); ok && (len(digest) != ShortDigest || bytes.ContainsAny([]byte(name), "/\x00")) {
			t.Errorf("%q has %q", name, digest)
		}
	})
}
