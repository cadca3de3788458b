package main

import (
	"encoding/xml"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Dependabot reads every file that names dependencies, and no folder without one.
func TestDependabot(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config); err != nil {
		t.Fatal(err)
	}
	for ecosystem, name := range map[string]string{
		"gomod": "go.mod", "maven": "pom.xml", "npm": "package.json", "pip": "requirements.txt", "docker": "Dockerfile",
	} {
		t.Run(ecosystem, func(t *testing.T) {
			var patterns []string
			for _, u := range config.Updates {
				if u.Ecosystem == ecosystem {
					patterns = append(patterns, u.Directories...)
				}
			}
			folders := foldersOf(t, name)
			for _, folder := range folders {
				if !slices.ContainsFunc(patterns, func(p string) bool { return matches(t, p, folder) }) {
					t.Errorf("the entry for %s in .github/dependabot.yml does not have %s", ecosystem, folder)
				}
			}
			for _, p := range patterns {
				if !slices.ContainsFunc(folders, func(folder string) bool { return matches(t, p, folder) }) {
					t.Errorf("the entry for %s in .github/dependabot.yml has %s, where no %s is", ecosystem, p, name)
				}
			}
		})
	}
}

func matches(t *testing.T, pattern, folder string) bool {
	ok, err := path.Match(pattern, folder)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// foldersOf returns the folders with such a file; of Maven's, without modules of a parent.
func foldersOf(t *testing.T, name string) []string {
	var folders []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "target", "lighthouse"}, entry.Name()) {
			return filepath.SkipDir
		}
		if entry.Name() != name {
			return nil
		}
		within, err := filepath.Rel(root, filepath.Dir(file))
		folders = append(folders, path.Join("/", filepath.ToSlash(within)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if name == "pom.xml" {
		all := slices.Clone(folders)
		folders = slices.DeleteFunc(folders, func(f string) bool { return slices.Contains(all, path.Dir(f)) })
	}
	return folders
}

// The notice in the agent's jar names each artifact whose classes the jar contains. What these depend on is compared with
// the bill of materials (hack/release/test.sh).
func TestNoticeOfAgent(t *testing.T) {
	notice := strings.Split(read(t, "agent/exporter/NOTICE"), "\n")
	for _, module := range []string{"exporter", "collector"} {
		var pom struct {
			Dependencies []struct {
				Group    string `xml:"groupId"`
				Artifact string `xml:"artifactId"`
			} `xml:"dependencies>dependency"`
		}
		if err := xml.Unmarshal([]byte(read(t, "agent/"+module+"/pom.xml")), &pom); err != nil {
			t.Fatal(err)
		}
		for _, d := range pom.Dependencies {
			if d.Group != "com.banzaicloud.jmxexporter" && !slices.Contains(notice, d.Group+":"+d.Artifact) {
				t.Errorf("agent/exporter/NOTICE does not name %s:%s, which agent/%s/pom.xml has: add it, with its NOTICE", d.Group, d.Artifact, module)
			}
		}
	}
}
