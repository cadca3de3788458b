package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// mutant is a change of the code that breaks one rule.
type mutant struct {
	// rule is what the code no longer obeys.
	rule string
	// file has old exactly once, which becomes what is new.
	file, old, new string
	// notices is the test that turns red.
	notices named
}

// mutants are those of all tables.
var mutants = slices.Concat(ofWork, ofNode, ofNextStart, ofThreats)

// named is a test of a package.
type named struct{ in, test string }

// apply returns the content of the file with the change.
func (m mutant) apply() (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(content), m.old); n != 1 {
		return "", fmt.Errorf("the mutant no longer applies: %s has %q %d times", m.file, m.old, n)
	}
	return strings.Replace(string(content), m.old, m.new, 1), nil
}

// Each mutant applies to the code as it is.
func TestMutantsApply(t *testing.T) {
	t.Parallel()
	rules := map[string]bool{}
	for _, m := range mutants {
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.rule, err)
		}
		if rules[m.rule] {
			t.Errorf("two mutants break the rule %q", m.rule)
		}
		rules[m.rule] = true
	}
}
