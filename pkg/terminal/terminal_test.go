package terminal

import (
	"strings"
	"testing"
)

const hostile = "é😀\x1b[31mred\x1b]0;x\a\u009b2J\u202egnp\u2066.exe\xff\ttab\rover\nnext\x7f"

func TestLine(t *testing.T) {
	if got, want := Line(hostile), "é😀?[31mred?]0;x??2J?gnp?.exe??tab?over?next?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriter(t *testing.T) {
	var out strings.Builder
	n, err := Writer(&out).Write([]byte(hostile))
	if n != len(hostile) || err != nil {
		t.Errorf("%d bytes are written: %v", n, err)
	}
	if got, want := out.String(), "é😀?[31mred?]0;x??2J?gnp?.exe?\ttab?over\nnext?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
