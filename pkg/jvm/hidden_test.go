//go:build linux

package jvm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// As a JVM's user, this process has CAP_SYS_PTRACE only if the kernel shows that JVM to nobody
// else, and no other capability.
func TestHidden(t *testing.T) {
	jvmtest.NeedUsers(t)
	const netBindService = "--inh-caps=+net_bind_service --ambient-caps=+net_bind_service"
	for name, test := range map[string]struct {
		options   jvmtest.Options
		effective string
		in        Container
	}{
		"another user":                    {jvmtest.Options{User: nobody}, "0000000000000000", ""},
		"another user, with a capability": {jvmtest.Options{User: nobody, Privileges: strings.Fields(netBindService)}, "0000000000080000", ""},
		"root on a node":                  {jvmtest.Options{Capabilities: "-all"}, "0000000000000000", InPod("pod", "container")},
		"root on a node, with capability": {jvmtest.Options{Capabilities: "-all,+chown"}, "0000000000080000", InPod("pod", "container")},
		"another user namespace":          {jvmtest.Options{User: 1000, UserNamespace: true}, "0000000000080000", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.options
			o.Container = true
			app := jvmtest.Need(t, 17).Start(t, o)
			p := found(t, app.PID)
			p.in = test.in
			if p.unreadable != nil {
				t.Fatal(p.unreadable)
			}
			var inside string
			err := p.As(func() error {
				if os.Geteuid() != p.UID || os.Getegid() != p.GID {
					return errors.New("it is another user")
				}
				status, err := os.ReadFile("/proc/thread-self/status")
				_, after, _ := strings.Cut(string(status), "CapEff:\t")
				inside, _, _ = strings.Cut(after, "\n")
				if nested := p.As(func() error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID)); return err }); err == nil {
					err = nested
				}
				return err
			})
			if err != nil || inside != test.effective {
				t.Errorf("capabilities are %s, %v, want %s", inside, err, test.effective)
			}
			var seen error
			if err := As(p.UID, p.GID, func() error { seen = p.As(func() error { _, err := p.OpenFiles(); return err }); return nil }); err != nil || seen != nil {
				t.Errorf("from the thread of its user: %v, %v", err, seen)
			}
			if err := As(p.UID, p.GID, func() error { return Outside(func() error { seen = fmt.Errorf("user %d", os.Geteuid()); return nil }) }); err != nil || seen.Error() != "user 0" {
				t.Errorf("outside, it is %v, %v", seen, err)
			}
			p.in = "" // which has no control groups here
			attach(t, p)
			app.Unharmed()
		})
	}
}

func TestIDMap(t *testing.T) {
	ranges := []idRange{{0, 200_000, 1000}, {1000, 5000, 1}}
	for inner, outer := range map[int]int{0: 200_000, 999: 200_999, 1000: 5000, 1001: -1} {
		if got := outside(ranges, inner); got != outer {
			t.Errorf("%d is %d outside, want %d", inner, got, outer)
		}
		if got := inside(ranges, outer); outer >= 0 && got != inner {
			t.Errorf("%d is %d inside, want %d", outer, got, inner)
		}
	}
	if got := inside(ranges, 0); got != 65534 {
		t.Errorf("the node's root is %d inside", got)
	}
	if inside(nil, 7) != 7 || outside(nil, 7) != 7 {
		t.Error("without a namespace, IDs differ")
	}
}
