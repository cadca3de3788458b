// Command runc-lean is a wrapper of runc where root lacks CAP_SYS_RESOURCE, as in many
// sandboxes. runc cannot grant capabilities that its caller does not have ("unable to
// apply caps"), lower an OOM score, or raise a limit. The wrapper removes those three
// from the request and executes runc (the file runc.real next to it).
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const missing = "CAP_SYS_RESOURCE"

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "runc-lean:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	// For "create --bundle", config.json contains the container; for "exec --process",
	// the file contains only the process.
	if bundle := option(args, "--bundle", "-b"); bundle != "" {
		err := rewrite(filepath.Join(bundle, "config.json"), func(spec map[string]any) { lean(spec["process"]) })
		if err != nil {
			return err
		}
	}
	if process := option(args, "--process", "-p"); process != "" {
		if err := rewrite(process, func(p map[string]any) { lean(p) }); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	real := filepath.Join(filepath.Dir(self), "runc.real")
	return syscall.Exec(real, append([]string{real}, args[1:]...), os.Environ())
}

// option returns the value of the option with one of these names, in either spelling.
func option(args []string, names ...string) string {
	for i, arg := range args {
		for _, name := range names {
			if value, ok := strings.CutPrefix(arg, name+"="); ok {
				return value
			}
			if arg == name && i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return ""
}

// rewrite changes a JSON file in place. A missing file is not an error: runc reports it.
func rewrite(file string, change func(map[string]any)) error {
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // device numbers and limits must not be converted to float
	if err := decoder.Decode(&object); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	change(object)
	if content, err = json.Marshal(object); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// lean removes what we cannot grant from an OCI process.
func lean(process any) {
	p, ok := process.(map[string]any)
	if !ok {
		return
	}
	delete(p, "oomScoreAdj")
	delete(p, "rlimits")
	capabilities, _ := p["capabilities"].(map[string]any)
	for set, names := range capabilities {
		if list, ok := names.([]any); ok {
			capabilities[set] = slices.DeleteFunc(list, func(name any) bool { return name == missing })
		}
	}
}
