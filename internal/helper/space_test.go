//go:build linux

package helper

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// If the files do not all fit, none is written, not even one for which there is space.
func TestNoSpaceForAll(t *testing.T) {
	small, large := []byte("rules: []\n"), make([]byte, 100_000)
	for name, tc := range map[string]struct {
		mount    string
		contents [][]byte
		reason   helperapi.Reason
	}{
		"blocks":            {"size=64k,mode=755", [][]byte{small, large}, helperapi.ReasonNoSpace},
		"inodes":            {"nr_inodes=3,mode=755", [][]byte{small, []byte("2"), []byte("3"), []byte("4")}, helperapi.ReasonNoSpace},
		"room for all":      {"size=256k,mode=755", [][]byte{small, large}, ""},
		"without any bound": {"size=0,nr_inodes=0,mode=755", [][]byte{small, large}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			if err := mkdir(0o755, 0); err != nil {
				t.Fatal(err)
			}
			mount(t, "small", helperapi.AgentDirectory, "tmpfs", 0, tc.mount)
			var req helperapi.Request
			for _, content := range tc.contents {
				req.Files = append(req.Files, helperapi.NewFile("config-", content, ".yaml"))
			}
			wantReason(t, do(t, helperapi.VerbStage, req, tc.contents...), tc.reason)
			want := 0
			if tc.reason == "" {
				want = len(req.Files)
				wantReason(t, do(t, helperapi.VerbStage, req, tc.contents...), "") // the files exist already
			}
			if got := names(t); len(got) != want {
				t.Errorf("there are %d files, want %d: %v", len(got), want, got)
			}
		})
	}
}

func TestNoSpace(t *testing.T) {
	cleanDirectory(t)
	if err := mkdir(0o755, 0); err != nil {
		t.Fatal(err)
	}
	mount(t, "small", helperapi.AgentDirectory, "tmpfs", 0, "size=64k,mode=755")
	content := make([]byte, 100_000)
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{helperapi.NewFile("agent-", content, ".jar")}}, content), helperapi.ReasonNoSpace)
	if got := names(t); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}
