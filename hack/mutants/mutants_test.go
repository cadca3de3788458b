//go:build mutants

package mutants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestMutants expects that each mutant turns its test red.
func TestMutants(t *testing.T) {
	var table strings.Builder
	table.WriteString("| rule that is broken | test | |\n| --- | --- | --- |\n")
	passes := map[named]func() error{}
	for _, m := range mutants {
		passes[m.notices] = sync.OnceValue(m.notices.passes)
	}
	tried, red := 0, 0
	for _, m := range mutants {
		t.Run(m.rule, func(t *testing.T) {
			tried++
			verdict := "**not red**"
			if err := errors.Join(passes[m.notices](), m.turnsRed(t.TempDir())); err != nil {
				t.Error(err)
			} else {
				verdict = "red"
				red++
			}
			fmt.Fprintf(&table, "| %s | `%s` in `%s` | %s |\n", m.rule, m.notices.test, m.notices.in, verdict)
		})
	}
	fmt.Fprintf(&table, "\n%d of %d mutants turned a test red.\n", red, tried)
	if file := os.Getenv("MUTANTS_TABLE"); file == "" {
		t.Log(table.String())
	} else if err := os.WriteFile(file, []byte(table.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// turnsRed returns nil if the test fails with the mutant.
func (m mutant) turnsRed(directory string) error {
	overlay, err := m.overlay(directory)
	if err != nil {
		return err
	}
	out, err := m.notices.run("-overlay=" + overlay)
	switch {
	case err == nil:
		return fmt.Errorf("%s passes with %q in place of %q in %s", m.notices.test, m.new, m.old, m.file)
	case bytes.Contains(out, []byte("--- FAIL: "+m.notices.test+" ")), bytes.Contains(out, []byte("\npanic: ")):
		return nil
	}
	return fmt.Errorf("the test was not run: %w\n%s", err, out)
}

// overlay writes the changed file, and the list by which the compiler takes it.
func (m mutant) overlay(directory string) (list string, err error) {
	content, err := m.apply()
	if err != nil {
		return "", err
	}
	file, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	changed, list := filepath.Join(directory, "mutant.go"), filepath.Join(directory, "overlay.json")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(changed, []byte(content), 0o600), os.WriteFile(list, overlay, 0o600))
}

// passes returns nil if the test passes without a mutant: one that fails or is skipped
// proves nothing.
func (n named) passes() error {
	out, err := n.run()
	if err == nil && !bytes.Contains(out, []byte("--- PASS: "+n.test+" ")) {
		err = errors.New("it was skipped, or there is none")
	}
	if err != nil {
		return fmt.Errorf("%s in %s does not pass without a mutant: %w\n%s", n.test, n.in, err, out)
	}
	return nil
}

// run runs the test.
func (n named) run(flags ...string) ([]byte, error) {
	arguments := append([]string{"test", "-trimpath", "-vet=off", "-count=1", "-v", "-timeout=10m", "-run=^" + n.test + "$"}, flags...)
	command := exec.Command("go", append(arguments, "./"+n.in)...)
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0") // what is compiled is shared with hack/test
	return command.CombinedOutput()
}
