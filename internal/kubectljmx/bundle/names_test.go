package bundle

import "testing"

// after returns the content of a file after a redaction.
func after(redact func(*Bundle), file, content string) string {
	b := &Bundle{Files: []File{{Name: file, Content: []byte(content)}}}
	redact(b)
	return string(b.Files[0].Content)
}

func TestNamesAreRedacted(t *testing.T) {
	n := names{}
	n.add("app", "payroll", "payroll-0", "shop", "")
	for _, test := range []struct{ file, content, want string }{
		{"a.log", "pod payroll-0 of payroll, payroll-7d9f-x", "pod name-3 of name-2, name-2-7d9f-x"},
		{"a.log", "Container app: apply it. app", "Container name-1: apply it. name-1"},
		{"a.log", "app: app", "name-1: name-1"},
		{"configurations.txt", "shop/payroll: accepted\nshop/app: accepted\n", "name-4/name-2: accepted\nname-4/name-1: accepted\n"},
		{"a.yaml", "  app: payroll\n- app: x\n  shop:\n", "  app: name-2\n- app: x\n  shop:\n"}, // a key is no name
		{"a.yaml", "- shop:app:x\n- app\n", "- name-4:name-1:x\n- name-1\n"},
		{"a.yaml", "app.kubernetes.io/name", "app.kubernetes.io/name"},
	} {
		if got := after(n.redact, test.file, test.content); got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.file, test.content, got, test.want)
		}
	}
}

func TestUsersAreRedacted(t *testing.T) {
	u := users{"me": true, "in": true, "dev@example.com": true, "system:serviceaccount:shop:deployer": true, "name": true}
	for _, test := range []struct{ file, content, want string }{
		{"a.log", `requester "me" in time, inspected by me me.`, `requester "REDACTED" REDACTED time, inspected by REDACTED REDACTED.`},
		{"a.log", "dev@example.com", "REDACTED"},
		{"a.yaml", "  name: name\n- system:serviceaccount:shop:deployer\n", "  name: REDACTED\n- REDACTED\n"},
	} {
		if got := after(u.redact, test.file, test.content); got != test.want {
			t.Errorf("%s %q: got %q, want %q", test.file, test.content, got, test.want)
		}
	}
	if got := after(users{}.redact, "a.log", "as it is"); got != "as it is" {
		t.Errorf("without users: got %q", got)
	}
}
