//go:build linux

package jvmtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// cached returns a directory of the user's cache that a command has filled, given files
// by their names. The command runs unless it did so before for the same key: compilers
// and linkers use more CPU than most tests.
func cached(key []byte, command func(dir string) *exec.Cmd, files map[string]string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "jmx-exporter-operator", "jvmtest")
	name := filepath.Join(cache, fmt.Sprintf("%.6x", sha256.Sum256(key)))
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(cache, "part")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	if out, err := command(dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	if err := os.Rename(dir, name); err != nil && !errors.Is(err, fs.ErrExist) { // another test's is the same
		return "", err
	}
	return name, nil
}
