package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// outside has the files of an operator outside of this repository that differ from the skeleton's.
// Embedding leaves out names that begin with a dot.
//
//go:embed outside
var outside embed.FS

// replaced are the files of the skeleton that have another one outside, and where that is written.
var replaced = map[string]string{
	"tools.mk": "tools.mk", "Dockerfile": "Dockerfile", "Dockerfile.dockerignore": "",
	"dockerignore": ".dockerignore", "gitignore": ".gitignore", "README.md": "README.md",
}

// write writes the operator of a checked request. If that fails, it leaves nothing behind.
func write(ctx context.Context, r request) (err error) {
	_, statErr := os.Stat(r.dir)
	made := errors.Is(statErr, fs.ErrNotExist)
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("DIR cannot be created: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, emptied(r.dir, made))
		}
	}()
	files, err := skeleton(r)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(r.dir, filepath.FromSlash(name)), text); err != nil {
			return err
		}
	}
	if err := writeModules(ctx, r); err != nil {
		return err
	}
	return command(ctx, r.dir, "make", "--no-print-directory", "generate")
}

// skeleton returns the files of the operator by their name in its folder, except for go.mod and what
// belongs to it.
func skeleton(r request) (map[string]string, error) {
	w, files := newWords(r), map[string]string{}
	add := func(name, to string, data []byte) error {
		text := w.text(string(data))
		if strings.HasSuffix(name, ".go") { // imports are sorted by name
			formatted, err := format.Source([]byte(text))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			text = string(formatted)
		}
		files[to] = text
		return nil
	}
	from := os.DirFS(filepath.Join(r.repository, "examples", "skeleton"))
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		_, other := replaced[name]
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bin" || name == "vendor"):
			return fs.SkipDir
		case entry.IsDir() || other || path.Dir(name) == "." && strings.HasPrefix(name, "go."):
			return nil
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return add(name, w.text(name), data)
	})
	if err != nil {
		return nil, err
	}
	for name, to := range replaced {
		data, err := outside.ReadFile("outside/" + name)
		if to == "" || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, add(name, to, data)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// emptied removes what was written into a folder, and the folder if it was made.
func emptied(dir string, made bool) error {
	if made {
		return os.RemoveAll(dir)
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}

// command runs a command in the folder of the operator, outside of any workspace: the operator is
// in none yet. Its output is part of the error.
func command(ctx context.Context, dir string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off")
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}
