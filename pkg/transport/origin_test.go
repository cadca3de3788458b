package transport

import (
	"regexp"
	"strings"
	"testing"
)

func TestUserAgent(t *testing.T) {
	for name, test := range map[string]struct {
		origin Origin
		want   string
	}{
		"nothing is known": {Origin{}, "operator/1"},
		"all is known": {
			Origin{"shop", "payroll", "system:serviceaccount:flux:apps", PurposeAttach},
			"operator/1 (exporter=shop/payroll; requester=system:serviceaccount:flux:apps; verb=attach)",
		},
		"without the stamp": {Origin{"shop", "payroll", "", PurposeDetach}, "operator/1 (exporter=shop/payroll; verb=detach)"},
		"a name that forges fields": {
			Origin{"shop", "payroll", "eve; verb=inspect) x (requester=root\r\nHost: evil", PurposeAttach},
			"operator/1 (exporter=shop/payroll; requester=eve%3B%20verb=inspect%29%20x%20%28requester=root%0D%0AHost:%20evil; verb=attach)",
		},
		"a name that is not ASCII": {Origin{"shop", "payroll", "é\u202e", PurposeAttach}, "operator/1 (exporter=shop/payroll; requester=%C3%A9%E2%80%AE; verb=attach)"},
		"a long name": {
			Origin{"shop", "payroll", strings.Repeat("é", 300), PurposeAttach},
			"operator/1 (exporter=shop/payroll; requester=" + strings.Repeat("%C3%A9", 42) + "%C3...; verb=attach)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.origin.userAgent("operator/1"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Whatever the names are, the User-Agent is one short line of printable ASCII that has each
// field once.
func FuzzUserAgent(f *testing.F) {
	f.Add("shop", "payroll", "eve; verb=inspect) (")
	form := regexp.MustCompile(`^operator/1 \(exporter=[!-:<-~]*/[!-:<-~]*; (requester=[!-:<-~]*; )?verb=attach\)$`)
	f.Fuzz(func(t *testing.T, namespace, exporter, requester string) {
		got := Origin{namespace, exporter + "x", requester, PurposeAttach}.userAgent("operator/1")
		if !form.MatchString(got) || len(got) > 1024 || strings.Count(got, "(")+strings.Count(got, ")") != 2 {
			t.Errorf("got %q", got)
		}
	})
}
