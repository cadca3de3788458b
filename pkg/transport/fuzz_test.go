package transport

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// FuzzAnswer feeds a session's decoder with whatever a container may answer.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"hello":{"version":"1","containerID":"ab","files":[{"name":"x"}]}}`,
		`{"id":1,"send":7}`,
		`{"id":1,"report":{"processes":[{"pid":7,"startTime":9,"uid":1,"gid":1,"implementation":"HotSpot","vendor":"\u001b[31m","version":"17","mainClass":"a\u202eb","refusal":{"reason":"x","message":"a\nb"},"mark":{"protocol":1,"state":"running","port":9404,"agent":"\u0000"},"exporter":{"port":1},"memory":{"limit":1,"free":1},"warning":"w"}],"listeningPorts":[1],"files":[]}}`,
		`{"id":1,"report":{"judgement":{"reason":"x","message":"a\nb\u001b[31m","series":-1,"skipped":{"count":1,"domain":"\u202e"}}}}`,
		`{"id":1,"report":{"error":{"reason":"Busy","message":"\ud800"}}}`,
		`{"id":1,"report":{"processes":[{"pid":4294967303},{"pid":1,"startTime":18446744073709551615}]}}`,
		`{"id":1,"report":{"processes":[{},{}]}}`, `{"id":1e400}`, `[[[[`, "\x00\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var answer helperapi.Answer
		if json.Unmarshal(line, &answer) != nil || answer.Report == nil || validate(answer.Report) != nil {
			return
		}
		report, err := sanitize(answer.Report)
		if err != nil {
			wantRecordable(t, report.Error)
		}
		for _, p := range report.Processes {
			if p.PID < 1 || p.PID > math.MaxInt32 || int64(p.StartTime) < 0 {
				t.Errorf("a record does not take %+v", p.Target)
			}
			wantRecordable(t, p.Refusal)
			for _, name := range []string{p.Implementation, p.Vendor, p.Version, p.MainClass, p.Warning} {
				wantText(t, name, maxName)
			}
		}
	})
}

// wantRecordable checks that an error is valid in a record.
func wantRecordable(t *testing.T, e *helperapi.Error) {
	t.Helper()
	if e == nil {
		return
	}
	if !v1alpha1.Known(string(e.Reason)) {
		t.Errorf("nobody knows the reason %q", e.Reason)
	}
	wantText(t, e.Message, maxSentence+1)
	if strings.Contains(e.Message, "\n") {
		t.Errorf("more than a line: %q", e.Message)
	}
}

func wantText(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > limit || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }) {
		t.Errorf("a terminal shows something else than %q", text)
	}
}

// FuzzClassify feeds classify with whatever a failed command may print on standard error.
func FuzzClassify(f *testing.F) {
	f.Add(126, "sh: ./jmx-attach: Permission denied")
	f.Add(exitWriteFailed, "head: \x1b[31m\u202e\xff\nNo space left on device")
	f.Add(-1, `exec: "sh": executable file not found in $PATH`)
	f.Fuzz(func(t *testing.T, code int, stderr string) {
		err, ok := classify(exited(code, text.Line(stderr, 200))).(*Error) //nolint:errorlint // it is not wrapped
		if !ok || !v1alpha1.Known(err.Reason) {
			t.Fatalf("%#v", err)
		}
		wantText(t, err.Message, 1000)
	})
}
