package bundle

import "testing"

func TestNamesAreRedacted(t *testing.T) {
	n := names{}
	n.add("app", "payroll", "payroll-0", "")
	for content, want := range map[string]string{
		"pod payroll-0 of payroll, payroll-7d9f-x": "pod name-3 of name-2, name-2-7d9f-x",
		"Container app: apply it. app":             "Container name-1: apply it. name-1",
		"  app: payroll\n- app: x\n":               "  app: name-2\n- app: x\n", // a key is no name
		"app.kubernetes.io/name":                   "app.kubernetes.io/name",
	} {
		b := &Bundle{Files: []File{{Name: "f", Content: []byte(content)}}}
		n.redact(b)
		if got := string(b.Files[0].Content); got != want {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	}
}
