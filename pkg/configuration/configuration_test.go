package configuration

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestValidate(t *testing.T) {
	for name, tc := range configurations {
		t.Run(name, func(t *testing.T) {
			got, err := Validate([]byte(tc.args))
			if diff := cmp.Diff(tc.want.err, asError(t, err)); diff != "" {
				t.Fatalf("\n%s\nValidate(...): -want error, +got error:\n%s", tc.reason, diff)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want.warnings, got); diff != "" {
				t.Errorf("\n%s\nValidate(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestValidateBytes(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []byte
		want   *Error
	}{
		"Latin1": {
			reason: "The line that is not UTF-8 is named.",
			args:   []byte("rules: []\n# gr\xfc\xdfe\n"),
			want:   &Error{ConfigNotYAML, 2, "the configuration is not encoded in UTF-8"},
		},
		"TooLarge": {
			reason: "It would travel to every pod.",
			args:   bytes.Repeat([]byte("#"), MaxSize+1),
			want:   &Error{ConfigTooLarge, 0, "the configuration has 262145 bytes; at most 262144 are accepted, since it is copied into every pod"},
		},
		"LargeEnough": {
			reason: "The bound itself is accepted.",
			args:   bytes.Repeat([]byte("#"), MaxSize),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Validate(tc.args)
			if diff := cmp.Diff(tc.want, asError(t, err)); diff != "" {
				t.Errorf("\n%s\nValidate(...): -want error, +got error:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestValidateTime validates configurations that are crafted to take long.
func TestValidateTime(t *testing.T) {
	long := strings.Repeat("a", MaxSize/2)
	cases := map[string]struct {
		reason string
		args   string
	}{
		"Aliases": {"A long text is repeated.", "rules: [{name: &a '" + long + "', pattern: *a}" + strings.Repeat(",{pattern: *a}", 9000) + "]"},
		"Factors": {"A long number is repeated.", "rules: [{valueFactor: &a '" + strings.Repeat("1", MaxSize/2) + "'}" + strings.Repeat(",{valueFactor: *a}", 7000) + "]"},
		"Keys":    {"A long key is repeated.", "rules: [{pattern: &a '" + long + "'}" + strings.Repeat(",{labels: {*a : b}}", 6000) + "]"},
		"Flow":    {"Lists are nested as deep as they can be.", strings.Repeat("[", MaxSize)},
		"Tab":     {"One line holds everything, and a tab.", "rules: [" + strings.Repeat("{}, ", MaxSize/5) + "{}] #\t"},
		"Map":     {"So are mappings.", strings.Repeat("{a: ", MaxSize/4)},
		"Unknown": {"All that is known is compared with all that is not.", unknownKeys()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Validate([]byte(tc.args))
			took := time.Since(start)
			t.Logf("%v: %v", took, err)
			if took > 5*time.Second {
				t.Errorf("\n%s\nValidate(...) took %v", tc.reason, took)
			}
		})
	}
}

// unknownKeys returns as many unknown keys as fit, each similar to a known one.
func unknownKeys() string {
	var keys strings.Builder
	for i := 0; keys.Len() < MaxSize-100; i++ {
		fmt.Fprintf(&keys, "lowercaseOutputName%d: 1\n", i)
	}
	return keys.String()
}

func TestError(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   *Error
		want   string
	}{
		"Line":   {"The line comes first.", &Error{ConfigInvalid, 3, "a"}, "line 3: a"},
		"NoLine": {"Unless there is none.", &Error{ConfigTooLarge, 0, "a"}, "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.args.Error()); diff != "" {
				t.Errorf("\n%s\nError(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzValidate(f *testing.F) {
	for _, tc := range configurations {
		f.Add([]byte(tc.args))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		before := bytes.Clone(content)
		_, err := Validate(content)
		if !bytes.Equal(content, before) {
			t.Error("Validate changed the content")
		}
		if err == nil {
			return
		}
		e := asError(t, err)
		if e.Message == "" || strings.ContainsAny(e.Message, "\r\n") || utf8.RuneCountInString(e.Message) > maxMessage {
			t.Errorf("not a sentence on one line: %q", e.Message)
		}
		if e.Line < 0 || e.Line > bytes.Count(content, []byte("\n"))+bytes.Count(content, []byte("\r"))+2 {
			t.Errorf("line %d does not exist", e.Line)
		}
	})
}

// asError returns err as an *Error, and fails the test if it is another error.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("not an *Error: %v", err)
	}
	return e
}
