//go:build linux

package helper

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

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
