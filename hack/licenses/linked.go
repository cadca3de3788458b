package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// module is a linked module, with the folders of its linked packages.
type module struct {
	path, root string
	packages   []string
}

// std is what bills of materials call Go's standard library.
const std = "std"

// listed is what "go list -json" prints for a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Dir string
		Main      bool
	}
}

// linked returns the modules of which the packages are made: for Linux, or for the systems
// that follow a package ("./cmd/p=linux,darwin").
func linked(ctx context.Context, repo string, packages []string) (map[string]*module, error) {
	root, err := output(ctx, repo, "linux", "", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goroot := strings.TrimSpace(string(root))
	modules := map[string]*module{std: {path: std, root: goroot, packages: []string{goroot}}}
	for _, p := range packages {
		path, systems, named := strings.Cut(p, "=")
		if !named {
			systems = "linux"
		}
		for system := range strings.SplitSeq(systems, ",") {
			for _, arch := range []string{"amd64", "arm64"} {
				list, err := output(ctx, repo, system, arch, "list", "-deps", "-json=Dir,Standard,Module", path)
				if err != nil {
					return nil, err
				}
				if err := add(modules, list); err != nil {
					return nil, err
				}
			}
		}
	}
	return modules, nil
}

func add(modules map[string]*module, list []byte) error {
	for decoder := json.NewDecoder(bytes.NewReader(list)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, root: p.Module.Dir}
			modules[m.path] = m
		}
		m.packages = append(m.packages, p.Dir)
	}
}

func output(ctx context.Context, dir, system, arch string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, nil
}
