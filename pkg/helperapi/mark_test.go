package helperapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMark(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		want  *Mark // nil: not a mark
	}{
		"running": {
			"protocol=1&state=running&agent=1.0.0&port=9404&config.sha256=ab&implementation.sha256=cd&token=t-1&loads=2",
			&Mark{Protocol: 1, State: AgentRunning, Agent: "1.0.0", Port: 9404, ConfigSHA256: "ab", ImplementationSHA256: "cd", Desired: "t-1", Loads: 2},
		},
		"failed": {
			"protocol=1&state=failed&reason=PortInUse&message=Port+9404+is+in+use%3A+%C3%A9.",
			&Mark{Protocol: 1, State: AgentFailed, Reason: ReasonPortInUse, Message: "Port 9404 is in use: é."},
		},
		"reloads": {
			"state=running&reloads=0&reload.failures=12",
			&Mark{State: AgentRunning, Reloads: new(int64), ReloadFailures: new(int64(12))},
		},
		"reloads are none": {"state=running&reloads=-1&reload.failures=x", &Mark{State: AgentRunning}},
		"skipped": {
			"state=running&skipped=12&skipped.domain=kafka.server&skipped.reason=InvalidValue",
			&Mark{State: AgentRunning, Notices: Notices{Skipped: &Skipped{Count: 12, Domain: "kafka.server", Reason: "InvalidValue"}}},
		},
		"skipped by a newer agent":   {"state=running&skipped=1", &Mark{State: AgentRunning, Notices: Notices{Skipped: &Skipped{Count: 1}}}},
		"skipped nothing":            {"state=running&skipped=0&skipped.domain=a", &Mark{State: AgentRunning}},
		"skipped is no number":       {"state=running&skipped=-1&skipped.domain=a&skipped.reason=b", &Mark{State: AgentRunning}},
		"skipped domain is not text": {"state=running&skipped=1&skipped.domain=a%0Ab%1B%5B31m&skipped.reason=" + strings.Repeat("x", 5000), &Mark{State: AgentRunning, Notices: Notices{Skipped: &Skipped{Count: 1, Domain: "a b [31m", Reason: strings.Repeat("x", 1024)}}}},
		"judgement": {
			"state=running&candidate.token=t&candidate.sha256=ab&candidate.collection.series=3&candidate.collection.mbeans=2&candidate.collection.millis=1&candidate.collection.bytes=-1&candidate.skipped=1&skipped=2",
			&Mark{
				State: AgentRunning, Notices: Notices{Skipped: &Skipped{Count: 2}},
				Judgement: &Judgement{Token: "t", Series: new(int64(3)), MBeans: new(int64(2)), Millis: new(int64(1)), Skipped: &Skipped{Count: 1}},
			},
		},
		"judgement incomplete":       {"state=running&candidate.token=t&candidate.reason=TrialIncomplete&candidate.message=m", &Mark{State: AgentRunning, Judgement: &Judgement{Token: "t", Reason: JudgementTrialIncomplete, Message: "m"}}},
		"judgement of a newer agent": {"state=running&candidate.token=t&candidate.reason=Tired", &Mark{State: AgentRunning, Judgement: &Judgement{Token: "t", Reason: JudgementReason(ReasonAgentFailed)}}},
		"judgement of nothing":       {"state=running&candidate.reason=ConfigRejected", &Mark{State: AgentRunning}},
		"keys of the future":         {"protocol=2&state=stopped&new=x", &Mark{Protocol: 2, State: AgentStopped}},
		"reason unknown":             {"state=failed&reason=Tired&message=m", &Mark{State: AgentFailed, Reason: ReasonAgentFailed, Message: "m"}},
		"a port is none":             {"protocol=1&state=running&port=99999", &Mark{Protocol: 1, State: AgentRunning}},
		"numbers are none":           {"protocol=x&state=starting&port=99999999999&loads=", &Mark{State: AgentStarting}},
		"control characters":         {"state=failed&message=a%0Ab%00%1B%5B31m", &Mark{State: AgentFailed, Message: "a b  [31m"}},
		"long":                       {"state=failed&message=" + strings.Repeat("x", 5000), &Mark{State: AgentFailed, Message: strings.Repeat("x", 1024)}},
		"state unknown":              {"protocol=1&state=dancing", nil},
		"not encoded":                {"state=%zz", nil},
		"empty":                      {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseMark(test.value)
			if (err != nil) != (test.want == nil) {
				t.Errorf("error is %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseNotices(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		want  *Notices // nil: not of the agent
	}{
		"none": {"", &Notices{}},
		"skipped, and expensive": {
			"skipped=2&skipped.reason=InvalidValue&skipped.domain=a&expensive=CPU&expensive.rule=7&expensive.include=a%3A*+b%3Atype%3DB",
			&Notices{Skipped: &Skipped{Count: 2, Domain: "a", Reason: "InvalidValue"}, Expensive: &Expensive{Reason: "CPU", Rule: 7, Include: []string{"a:*", "b:type=B"}}},
		},
		"without what the application chose": {
			"skipped=2&skipped.reason=InvalidValue&expensive=Duration",
			&Notices{Skipped: &Skipped{Count: 2, Reason: "InvalidValue"}, Expensive: &Expensive{Reason: "Duration"}},
		},
		"of the future":           {"new=x&expensive=Wattage", &Notices{Expensive: &Expensive{Reason: "Wattage"}}},
		"rule is none":            {"expensive=CPU&expensive.rule=-1", &Notices{Expensive: &Expensive{Reason: "CPU"}}},
		"rule is too large":       {"expensive=CPU&expensive.rule=99999999999", &Notices{Expensive: &Expensive{Reason: "CPU"}}},
		"patterns of nothing":     {"expensive.include=a%3A*&expensive.rule=1", &Notices{}},
		"too many patterns":       {"expensive=CPU&expensive.include=" + strings.Repeat("a%3A*+", 11), &Notices{Expensive: &Expensive{Reason: "CPU"}}},
		"too long patterns":       {"expensive=CPU&expensive.include=" + strings.Repeat("a", 1025), &Notices{Expensive: &Expensive{Reason: "CPU"}}},
		"control characters":      {"expensive=C%1B%5B31m&expensive.include=a%3A*%0Ab%3A*", &Notices{Expensive: &Expensive{Reason: "C [31m", Include: []string{"a:*", "b:*"}}}},
		"right-to-left text":      {"skipped=1&skipped.domain=a%E2%80%AEb", &Notices{Skipped: &Skipped{Count: 1, Domain: "a b"}}},
		"not encoded":             {"skipped=%zz", nil},
		"longer than an agent's":  {"x=" + strings.Repeat("x", 4096), nil},
		"separated by semicolons": {"skipped=1;skipped.domain=a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ParseNotices(test.value)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
