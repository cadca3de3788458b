package helperapi

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadCall(t *testing.T) {
	for name, test := range map[string]struct {
		in, rest string
		want     error // nil for any error
		ok       bool
	}{
		"call":            {in: `{"id":7}` + "\n", ok: true},
		"files follow":    {in: `{"id":7}` + "\nblob\nblob", rest: "blob\nblob", ok: true},
		"future":          {in: `{"id":7,"new":{"a":1}}` + "\n", ok: true},
		"as long as can":  {in: `{"id":7}` + strings.Repeat(" ", MaxCall-8) + "\nx", rest: "x", ok: true},
		"too long":        {in: `{"id":7}` + strings.Repeat(" ", MaxCall-7) + "\n", want: ErrLineTooLong},
		"without end":     {in: strings.Repeat("x", 1<<20), want: ErrLineTooLong},
		"without newline": {in: `{"id":7}`, want: io.ErrUnexpectedEOF},
		"nothing":         {want: io.EOF},
		"not JSON":        {in: "hello\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := bufio.NewReader(strings.NewReader(test.in))
			call, err := ReadCall(r)
			if (err == nil) != test.ok || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("error is %v", err)
			}
			if err != nil {
				return
			}
			if rest, err := io.ReadAll(r); err != nil || string(rest) != test.rest || call.ID != 7 {
				t.Errorf("behind call %d is %q, %v", call.ID, rest, err)
			}
		})
	}
}

func TestFileNames(t *testing.T) {
	file := NewFile("agent-", []byte("x"), ".jar")
	if digest, ok := FileDigest(file.Name); !ok || !strings.HasPrefix(file.SHA256, digest) || len(digest) != ShortDigest {
		t.Errorf("%+v has %q", file, digest)
	}
	for _, name := range []string{"", "agent-.jar", "agent-0123456789aX.jar", "agent-0123456789ab", "../agent-0123456789ab.jar", "x-0123456789ab", "agent-0123456789abc.jar"} {
		if digest, ok := FileDigest(name); ok {
			t.Errorf("%q has %q", name, digest)
		}
	}
}
