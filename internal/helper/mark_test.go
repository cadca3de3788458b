//go:build linux

package helper

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func TestParseMark(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		want  *helperapi.Mark // nil: not a mark
	}{
		"running": {
			"protocol=1&state=running&agent=1.0.0&port=9404&config.sha256=ab&implementation.sha256=cd&token=t-1&loads=2",
			&helperapi.Mark{Protocol: 1, State: helperapi.AgentRunning, Agent: "1.0.0", Port: 9404, ConfigSHA256: "ab", ImplementationSHA256: "cd", Desired: "t-1", Loads: 2},
		},
		"failed": {
			"protocol=1&state=failed&reason=PortInUse&message=Port+9404+is+in+use%3A+%C3%A9.",
			&helperapi.Mark{Protocol: 1, State: helperapi.AgentFailed, Reason: helperapi.ReasonPortInUse, Message: "Port 9404 is in use: é."},
		},
		"reloads": {
			"state=running&reloads=0&reload.failures=12",
			&helperapi.Mark{State: helperapi.AgentRunning, Reloads: new(int64), ReloadFailures: new(int64(12))},
		},
		"reloads are none": {"state=running&reloads=-1&reload.failures=x", &helperapi.Mark{State: helperapi.AgentRunning}},
		"skipped": {
			"state=running&skipped=12&skipped.domain=kafka.server&skipped.reason=InvalidValue",
			&helperapi.Mark{State: helperapi.AgentRunning, Skipped: &helperapi.Skipped{Count: 12, Domain: "kafka.server", Reason: "InvalidValue"}},
		},
		"skipped by a newer agent":   {"state=running&skipped=1", &helperapi.Mark{State: helperapi.AgentRunning, Skipped: &helperapi.Skipped{Count: 1}}},
		"skipped nothing":            {"state=running&skipped=0&skipped.domain=a", &helperapi.Mark{State: helperapi.AgentRunning}},
		"skipped is no number":       {"state=running&skipped=-1&skipped.domain=a&skipped.reason=b", &helperapi.Mark{State: helperapi.AgentRunning}},
		"skipped domain is not text": {"state=running&skipped=1&skipped.domain=a%0Ab%1B%5B31m&skipped.reason=" + strings.Repeat("x", 5000), &helperapi.Mark{State: helperapi.AgentRunning, Skipped: &helperapi.Skipped{Count: 1, Domain: "a b [31m", Reason: strings.Repeat("x", 1024)}}},
		"keys of the future":         {"protocol=2&state=stopped&new=x", &helperapi.Mark{Protocol: 2, State: helperapi.AgentStopped}},
		"reason unknown":             {"state=failed&reason=Tired&message=m", &helperapi.Mark{State: helperapi.AgentFailed, Reason: helperapi.ReasonAgentFailed, Message: "m"}},
		"a port is none":             {"protocol=1&state=running&port=99999", &helperapi.Mark{Protocol: 1, State: helperapi.AgentRunning}},
		"numbers are none":           {"protocol=x&state=starting&port=99999999999&loads=", &helperapi.Mark{State: helperapi.AgentStarting}},
		"control characters":         {"state=failed&message=a%0Ab%00%1B%5B31m", &helperapi.Mark{State: helperapi.AgentFailed, Message: "a b  [31m"}},
		"long":                       {"state=failed&message=" + strings.Repeat("x", 5000), &helperapi.Mark{State: helperapi.AgentFailed, Message: strings.Repeat("x", 1024)}},
		"state unknown":              {"protocol=1&state=dancing", nil},
		"not encoded":                {"state=%zz", nil},
		"empty":                      {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseMark(test.value)
			if (err != nil) != (test.want == nil) {
				t.Errorf("error is %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDesired(t *testing.T) {
	d := helperapi.Desired{Implementation: "exporter-1.jar", ImplementationSHA256: "ab", Config: "config-1.yaml", ConfigSHA256: "cd", Port: 9404}
	running := runningPairs(d)
	const want = "config=%2Ftmp%2F.jmx-exporter%2Fconfig-1.yaml&config.sha256=cd&implementation=%2Ftmp%2F.jmx-exporter%2Fexporter-1.jar" +
		"&implementation.sha256=ab&port=9404&protocol=1&state=running"
	if got := running.Encode(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	now := time.Unix(1, 2)
	token := newToken(running, now)
	if token == newToken(running, now.Add(1)) || token == newToken(stoppedPairs(running), now) {
		t.Error("two writings have the same token")
	}
	tokened := runningPairs(d)
	tokened.Set("token", token)
	if !sameContent(running, tokened) || sameContent(running, stoppedPairs(running)) || sameContent(nil, running) {
		t.Error("sameContent does not compare all but the token")
	}
	if got := stoppedPairs(nil).Encode(); got != "protocol=1&state=stopped" {
		t.Errorf("stopped from nothing: %s", got)
	}
}

func TestInPod(t *testing.T) {
	const uid = "0f3f5a6e-1111-4222-8333-444455556666"
	const mounts = `1 2 8:1 /var/lib/kubelet/pods/` + uid + `/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw
3 4 0:30 /kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort-pod9d3e5a6e_1111_4222_8333_444455556666.slice/x /sys/fs/cgroup ro - cgroup2 cgroup rw
`
	for candidate, want := range map[string]bool{
		uid:                                    true,
		"9d3e5a6e-1111-4222-8333-444455556666": true,
		"0f3f5a6e-1111-4222-8333-444455556667": false,
		"0f3f5a6e":                             false,
	} {
		if got := inPod(mounts, candidate); got != want {
			t.Errorf("%s: got %v", candidate, got)
		}
	}
	for _, bad := range []string{"..", "a/b", "x\n"} {
		if err := checkPod(bad); typed(err).Reason != helperapi.ReasonBadRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
