//go:build linux

package jvm

import "testing"

func TestParseRelease(t *testing.T) {
	vendor, version := parseRelease("IMPLEMENTOR=\"Eclipse Adoptium\"\nJAVA_VERSION=\"25.0.3\"\nJAVA_VERSION_DATE=\"2026-04-21\"\n")
	if vendor != "Eclipse Adoptium" || version != "25.0.3" {
		t.Errorf("got %q, %q", vendor, version)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]struct {
		major    int
		restarts bool
	}{
		"1.8.0_341": {8, false}, "1.8.0_342": {8, true}, "1.8.0": {8, false},
		"11.0.12": {11, false}, "11.0.13": {11, true}, "11": {11, false}, "13.0.2": {13, false},
		"14": {14, true}, "17.0.15": {17, true}, "25": {25, true}, "26-ea": {26, true}, "": {0, false},
	} {
		if Major(version) != want.major || restartsListener(version) != want.restarts {
			t.Errorf("%q: got %d, %v, want %+v", version, Major(version), restartsListener(version), want)
		}
	}
}
