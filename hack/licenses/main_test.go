package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/licenseclassifier/v2/assets"
)

// files writes a module, and returns it with a linked package in each folder.
func files(t *testing.T, content map[string]string) map[string]*module {
	t.Helper()
	m := &module{path: "example.com/m", root: t.TempDir()}
	for name, text := range content {
		file := filepath.Join(m.root, name)
		if err := put(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
		m.packages = append(m.packages, filepath.Dir(file))
	}
	return map[string]*module{m.path: m}
}

// licenseText returns a license from the classifier's own collection.
func licenseText(t *testing.T, name string) string {
	t.Helper()
	text, err := assets.ReadLicenseFile("License/" + name + "/license.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func apache(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTexts(t *testing.T) {
	modules := files(t, map[string]string{
		"LICENSE": apache(t), "NOTICE": "N", "license.go": "package m", "README.md": "R",
		"internal/third_party/code.go": "package third_party", "internal/LICENSE.txt": apache(t),
	})
	// A folder without a linked package.
	if err := put(filepath.Join(modules["example.com/m"].root, "tools/LICENSE"), []byte("no license")); err != nil {
		t.Fatal(err)
	}
	found, err := collect(modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := classify(found); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "LICENSES")
	if err := put(filepath.Join(out, "example.com/removed/LICENSE"), nil); err != nil {
		t.Fatal(err)
	}
	if err := write(out, found); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(out, "index.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := "example.com/m/LICENSE: Apache-2.0\nexample.com/m/NOTICE: notice\nexample.com/m/internal/LICENSE.txt: Apache-2.0\n"
	if string(index) != want {
		t.Errorf("index:\n%swant:\n%s", index, want)
	}
	if _, err := os.Stat(filepath.Join(out, "example.com/removed")); !os.IsNotExist(err) {
		t.Errorf("the license of a module that is no longer linked is kept: %v", err)
	}
}

func TestRefused(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"no license":         {map[string]string{"NOTICE": "N"}, "example.com/m has no license"},
		"only below":         {map[string]string{"vendored/LICENSE": apache(t)}, "example.com/m has no license"},
		"an unknown license": {map[string]string{"LICENSE": "Do what I say."}, "example.com/m/LICENSE is not a license that is known"},
		"copyleft":           {map[string]string{"COPYING": licenseText(t, "GPL-3.0")}, "example.com/m/COPYING is GPL-3.0"},
		"copyleft below":     {map[string]string{"LICENSE": apache(t), "b/LICENSE": licenseText(t, "GPL-3.0")}, "example.com/m/b/LICENSE is GPL-3.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := collect(files(t, tc.files))
			if err == nil {
				err = classify(found)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// The modules of the named systems and the standard library are listed, the test's own module is not.
func TestLinked(t *testing.T) {
	own := []string{"github.com/davecgh/go-spew", "github.com/google/licenseclassifier/v2", "github.com/sergi/go-diff", "std"}
	for name, tc := range map[string]struct {
		repo    string
		listed  []string
		missing []string
	}{
		".":                               {".", own, nil},
		"./cmd/kubectl-jmx":               {"../..", []string{"github.com/spf13/cobra", "std"}, []string{"github.com/inconshreveable/mousetrap"}},
		"./cmd/kubectl-jmx=linux,windows": {"../..", []string{"github.com/Azure/go-ansiterm", "github.com/inconshreveable/mousetrap"}, nil},
	} {
		modules, err := linked(t.Context(), tc.repo, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Sorted(maps.Keys(modules))
		if name == "." && !slices.Equal(got, own) {
			t.Errorf("%s: got %v, want %v", name, got, own)
		}
		for _, m := range tc.listed {
			if !slices.Contains(got, m) {
				t.Errorf("%s: %s is not listed", name, m)
			}
		}
		for _, m := range tc.missing {
			if slices.Contains(got, m) {
				t.Errorf("%s: %s is listed", name, m)
			}
		}
	}
}
