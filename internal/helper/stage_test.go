//go:build linux

package helper

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func TestStage(t *testing.T) {
	cleanDirectory(t)
	syscall.Umask(0o077)
	defer syscall.Umask(0o022)
	tool, config := []byte("#!/bin/sh\n"), []byte(anyMBean)
	files := []helperapi.File{helperapi.NewFile("jmx-attach-", tool, ""), helperapi.NewFile("config-", config, ".yaml")}
	for range 2 { // the second time, the files exist and their contents are skipped
		report := do(t, helperapi.VerbStage, helperapi.Request{Files: files}, tool, config)
		wantReason(t, report, "")
		if len(report.Files) != 2 {
			t.Errorf("staged %v", report.Files)
		}
	}
	for name, want := range map[string]os.FileMode{
		"": 0o755, files[0].Name: 0o755, files[1].Name: 0o644,
	} {
		info, err := os.Stat(filepath.Join(helperapi.AgentDirectory, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s/%s: %v, %v, want %v", helperapi.AgentDirectory, name, info.Mode(), err, want)
		}
	}
	if got := names(t); len(got) != 2 {
		t.Errorf("left behind: %v", got)
	}

	// A modified file is not reported as staged, and is replaced.
	if err := os.WriteFile(filepath.Join(helperapi.AgentDirectory, files[1].Name), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: files}); len(report.Files) != 1 || report.Files[0] != files[0] {
		t.Errorf("inspect finds %v", report.Files)
	}
	wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: files}, tool, config), "")
	if report := do(t, helperapi.VerbInspect, helperapi.Request{Files: files}); len(report.Files) != 2 {
		t.Errorf("inspect finds %v", report.Files)
	}
}

// A partial file never gets its final name.
func TestStageBroken(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 100_000)
	file := helperapi.NewFile("agent-", content, ".jar")
	other := slices.Clone(content)
	other[99_999] = 'y'
	for name, test := range map[string]struct {
		file   helperapi.File
		blob   []byte
		reason helperapi.Reason
	}{
		"nothing":    {file, nil, helperapi.ReasonStagingIncomplete},
		"cut":        {file, content[:99_999], helperapi.ReasonStagingIncomplete},
		"changed":    {file, other, helperapi.ReasonStagingIncomplete},
		"path":       {helperapi.File{Name: "../" + file.Name, Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"other name": {helperapi.File{Name: "agent-000000000000.jar", Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"desired":    {helperapi.File{Name: "1-1.desired", Size: file.Size, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"no digest":  {helperapi.File{Name: file.Name, Size: file.Size}, content, helperapi.ReasonBadRequest},
		"large":      {helperapi.File{Name: file.Name, Size: directory.MaxFileSize + 1, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
		"negative":   {helperapi.File{Name: file.Name, Size: -1, SHA256: file.SHA256}, content, helperapi.ReasonBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			cleanDirectory(t)
			wantReason(t, do(t, helperapi.VerbStage, helperapi.Request{Files: []helperapi.File{test.file}}, test.blob), test.reason)
			if entries, _ := os.ReadDir(helperapi.AgentDirectory); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}
