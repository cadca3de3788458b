package integration

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kustomizationKeys are those by which a kustomization in a page is recognized, if a list
// follows.
var kustomizationKeys = []string{"resources", "components", "images", "patches", "transformers"}

// installations returns every way of installing the operator, by name: the folder to
// build of each overlay in config that has the operator's Deployment, and of each
// kustomization that the documentation shows.
func installations(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	overlays, err := filepath.Glob("../../config/*/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		if text := readFile(t, overlay); strings.Contains(text, "\nresources:") && strings.Contains(text, "../policies/installation") || strings.Contains(text, "- ../default\n") {
			dir := strings.TrimPrefix(filepath.Dir(overlay), "../../")
			found[dir] = dir
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../README.md") {
		text := strings.ReplaceAll(readFile(t, page), "shop", "store") // the namespace of TestKubectlSees
		for _, at := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatchIndex(text, -1) {
			if documents := strings.Split(text[at[2]:at[3]], "---\n"); slices.ContainsFunc(documents, isKustomization) {
				heading := regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllString(text[:at[0]], -1)
				found[filepath.Base(page)+" "+strings.TrimLeft(heading[len(heading)-1], "# ")] = unfold(t, documents)
			}
		}
	}
	return found
}

func isKustomization(document string) bool {
	var content map[string]any
	if yaml.Unmarshal([]byte(document), &content) != nil || content["kind"] != nil {
		return false
	}
	return slices.ContainsFunc(kustomizationKeys, func(key string) bool { _, list := content[key].([]any); return list })
}

// unfold writes the kustomizations that a page shows next to a copy of config, each to
// the path in its first line, and returns the folder to build. A kustomization without
// resources is to be added to that of config/default.
func unfold(t *testing.T, documents []string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "config"), os.DirFS("../../config")); err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		if !regexp.MustCompile(`(?m)^resources:`).MatchString(document) {
			extend(t, filepath.Join(root, "config", "default", "kustomization.yaml"), document)
			return filepath.Join(root, "config", "default")
		}
		shown := regexp.MustCompile(`^# (?:(\w+)/)?kustomization.yaml(?:, and the same for (\w+))?`).FindStringSubmatch(document)
		folders := []string{""}
		if shown != nil {
			folders[0] = shown[1]
		}
		if shown != nil && shown[2] != "" {
			folders = append(folders, shown[2])
		}
		for _, folder := range folders {
			to := "config/"
			text := strings.ReplaceAll(document, "- ../", "- "+to) // shown for a folder of config
			if folder != "" {
				to = "../config/"
				text = strings.ReplaceAll(document, folders[0], folder)
			}
			text = regexp.MustCompile(`github\.com/banzaicloud/jmx-exporter-operator//?config/([^\s?]+)(\?ref=\S+)?`).ReplaceAllString(text, to+"$1")
			writeFile(t, filepath.Join(root, folder, "kustomization.yaml"), text)
		}
	}
	return root
}

// extend appends the lists of a kustomization to those of another.
func extend(t *testing.T, file, by string) {
	t.Helper()
	var content, more map[string]any
	for text, to := range map[string]*map[string]any{readFile(t, file): &content, by: &more} {
		if err := yaml.Unmarshal([]byte(text), to); err != nil {
			t.Fatal(err)
		}
	}
	for key := range maps.Keys(more) {
		list, _ := content[key].([]any)
		content[key] = append(list, more[key].([]any)...)
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(text))
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
