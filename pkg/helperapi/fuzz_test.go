package helperapi

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// isBounded reports whether a text is safe for a report and a terminal.
func isBounded(text string) bool {
	return len(text) <= 1024 && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) })
}

// textsOf returns the texts of notices that the agent, or who serves its port, chose.
func textsOf(n Notices) (texts []string) {
	if n.Skipped != nil {
		texts = append(texts, n.Skipped.Domain, n.Skipped.Reason)
	}
	if n.Expensive != nil {
		texts = append(texts, n.Expensive.Reason, strings.Join(n.Expensive.Include, " "))
	}
	return texts
}

// The agent's answer, which any code in the JVM can write.
func FuzzParseMark(f *testing.F) {
	for _, seed := range []string{
		"protocol=1&state=running&port=1&message=%C3",
		"protocol=1&state=failed&reason=PortInUse&message=Port+9404+is+in+use%3A+%C3%A9.",
		"state=running&agent=%1B%5B31m&config.sha256=%E2%80%AE&reloads=-1&loads=99999999999",
		"state=running&skipped=1&skipped.domain=%1B%5B31m&skipped.reason=%C3",
		"state=running&expensive=%1B&expensive.rule=-1&expensive.include=a%3A*+%E2%80%AE%3A*",
		"state=stopped&state=running&%zz", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		mark, err := ParseMark(value)
		if err != nil {
			return
		}
		for _, text := range append(textsOf(mark.Notices), mark.Agent, mark.ConfigSHA256, mark.ImplementationSHA256, mark.Desired, mark.Message) {
			if !isBounded(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

// A header of whoever serves the port.
func FuzzParseNotices(f *testing.F) {
	for _, seed := range []string{"skipped=1&skipped.domain=%1B%5B31m", "expensive=CPU&expensive.rule=99999999999&expensive.include=a%3A*%20b%3A*", "%zz", "\xff;", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		notices := ParseNotices(value)
		if notices == nil {
			return
		}
		if e := notices.Expensive; e != nil && (e.Rule < 0 || len(e.Include) > 10) {
			t.Errorf("%+v", e)
		}
		for _, text := range textsOf(*notices) {
			if !isBounded(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

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
