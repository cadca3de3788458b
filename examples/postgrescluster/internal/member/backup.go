package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"
)

// keptBackups is how many base backups are kept.
const keptBackups = 2

// unfinished is the suffix of a base backup that is being made.
const unfinished = ".unfinished"

// backup makes a base backup of the primary, and removes those that are too many. One that
// was interrupted is never taken for whole, and is removed by the next.
func (c Config) backup(ctx context.Context) error {
	dir := c.backups()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failed(BackupFailed, "The claim of the backups cannot be written", err)
	}
	name := clock.RealClock{}.Now().UTC().Format("2006-01-02T15-04-05.000Z")
	path := filepath.Join(dir, name)
	if _, err := c.program(ctx, "pg_basebackup", "--pgdata="+path+unfinished, "--host="+c.Primary, fmt.Sprint("--port=", Port), "--username="+User,
		"--wal-method=stream", "--checkpoint=fast", "--no-password"); err != nil {
		_ = os.RemoveAll(path + unfinished)
		return failed(BackupFailed, "A base backup of the primary could not be made", err)
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return failed(BackupFailed, "The base backup cannot be moved to its final path", err)
	}
	_, _ = fmt.Fprintln(c.Log, "member: made the base backup", name)
	return c.prune(name)
}

// prune removes what is older than the backups that are kept.
func (c Config) prune(newest string) error {
	names, err := c.listBackups()
	if err != nil {
		return failed(BackupFailed, "The claim of the backups cannot be read", err)
	}
	entries, err := os.ReadDir(c.backups())
	if err != nil {
		return failed(BackupFailed, "The claim of the backups cannot be read", err)
	}
	kept := names[max(0, len(names)-keptBackups):]
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(kept, name) && name <= newest {
			if err := os.RemoveAll(filepath.Join(c.backups(), name)); err != nil {
				return failed(BackupFailed, "An older base backup cannot be removed", err)
			}
		}
	}
	return nil
}

// restore copies the newest base backup.
func (c Config) restore() error {
	names, err := c.listBackups()
	if err != nil && !os.IsNotExist(err) {
		return failed(RestoreFailed, "The claim of the backups cannot be read", err)
	}
	if len(names) == 0 {
		return failed(NoData, "The claim has no data, and there is no base backup of this cluster", nil)
	}
	newest := names[len(names)-1]
	_, _ = fmt.Fprintln(c.Log, "member: restoring the base backup", newest)
	if err := c.create(false, func(dir string) error { return copyTree(filepath.Join(c.backups(), newest), dir) }); err != nil {
		return failed(RestoreFailed, "The base backup "+newest+" could not be copied", err)
	}
	return nil
}

// backups returns the directory of this cluster's base backups.
func (c Config) backups() string { return filepath.Join(c.Backups, c.SystemIdentifier) }

// listBackups returns the names of those that are whole, the oldest first.
func (c Config) listBackups() ([]string, error) {
	entries, err := os.ReadDir(c.backups())
	var names []string
	for _, entry := range entries { // sorted by name
		if entry.IsDir() && !strings.HasSuffix(entry.Name(), unfinished) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// copyTree copies a directory with what PostgreSQL has in it: files and directories.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	// PostgreSQL refuses a directory that others can read.
	if err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}); err != nil {
		return err
	}
	// What is renamed next is to be whole after a crash of the node, too.
	dir, err := os.Open(to)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(dir.Fd())), dir.Close())
}
