// Command docs generates documentation from code: docs/states.md from the state machine,
// docs/api.md from the CRDs. make generate runs it, and make verify fails if the result
// differs from the committed files.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const header = "<!-- Written by hack/docs (make generate). Do not edit. -->\n\n"

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// write writes the pages of the repository in root.
func write(root string) error {
	states, err := statesPage()
	if err != nil {
		return err
	}
	api, err := apiPage(filepath.Join(root, "config/crd/bases"))
	if err != nil {
		return err
	}
	for name, page := range map[string]string{"states.md": states, "api.md": api} {
		if err := os.WriteFile(filepath.Join(root, "docs", name), []byte(header+page), 0o644); err != nil {
			return err
		}
	}
	return nil
}
