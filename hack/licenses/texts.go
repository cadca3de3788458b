package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licenseclassifier/v2/assets"
)

// text is a file that travels with the binaries.
type text struct {
	content  []byte
	licenses []string // as SPDX identifies them; none for a notice
}

var (
	license = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)([-.].*)?$`)
	notice  = regexp.MustCompile(`(?i)^(notice|copyright|patents)([-.].*)?$`)
)

// allowed are the licenses that ask for their text and notices only, which the image
// carries. Another one is for a person to read, before it is added here.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// collect returns the texts of each module by their path in the output: those of its
// root, and of the folders between it and the linked packages, because code that a
// module took from elsewhere keeps its license next to it.
func collect(modules map[string]*module) (map[string]*text, error) {
	found := map[string]*text{}
	var missing []error
	for _, m := range modules {
		for _, folder := range m.folders() {
			if err := m.add(found, folder); err != nil {
				return nil, err
			}
		}
		if !m.licensed(found) {
			missing = append(missing, fmt.Errorf("module %s has no license in %s", m.path, m.root))
		}
	}
	return found, errors.Join(missing...)
}

func (m *module) folders() []string {
	all := []string{m.root}
	for _, folder := range m.packages {
		for ; folder != m.root && strings.HasPrefix(folder, m.root); folder = filepath.Dir(folder) {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (m *module) add(found map[string]*text, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || filepath.Ext(name) == ".go" || !license.MatchString(name) && !notice.MatchString(name) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		within, err := filepath.Rel(m.root, folder)
		if err != nil {
			return err
		}
		found[filepath.Join(m.path, within, name)] = &text{content: content}
	}
	return nil
}

func (m *module) licensed(found map[string]*text) bool {
	for name := range found {
		if filepath.Dir(name) == m.path && license.MatchString(filepath.Base(name)) {
			return true
		}
	}
	return false
}

// classify names the license of each text, and fails for one that is not allowed.
func classify(found map[string]*text) error {
	classifier, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	var refused []error
	for name, t := range found {
		if !license.MatchString(filepath.Base(name)) {
			continue
		}
		for _, match := range classifier.Match(t.content).Matches {
			// A header stands for a license in a file of several.
			if (match.MatchType == "License" || match.MatchType == "Header") && !slices.Contains(t.licenses, match.Name) {
				t.licenses = append(t.licenses, match.Name)
			}
		}
		slices.Sort(t.licenses)
		if len(t.licenses) == 0 {
			refused = append(refused, fmt.Errorf("%s is not a license that is known", name))
		}
		for _, l := range t.licenses {
			if !slices.Contains(allowed, l) {
				refused = append(refused, fmt.Errorf("%s is %s, which is not among %s", name, l, strings.Join(allowed, ", ")))
			}
		}
	}
	return errors.Join(refused...)
}
