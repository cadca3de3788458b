package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Proof names a test: its folder in the repository, a space, and its name.
type Proof string

// Check returns an error if the repository has no such test, in Go or Java.
func (p Proof) Check(repository string) error {
	folder, name, _ := strings.Cut(string(p), " ")
	files, err := filepath.Glob(filepath.Join(repository, folder, "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, "Test.java") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), "func "+name+"(t ") || strings.Contains(string(text), "void "+name+"()") {
			return nil
		}
	}
	return fmt.Errorf("%s has no test %q", folder, name)
}
