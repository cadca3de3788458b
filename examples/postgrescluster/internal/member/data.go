package member

import (
	"fmt"
	"os"
	"strings"
)

// create has a data directory filled beside the place of the data, and moves it there when
// it is whole: what is in place is never half. Data that is to be kept is put aside, unless other
// data is there already: a member that diverges time and again does not fill its claim.
func (c Config) create(keep bool, fill func(dir string) error) error {
	fresh := c.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := fill(fresh); err != nil {
		_ = os.RemoveAll(fresh)
		return err
	}
	if err := private(fresh); err != nil {
		return err
	}
	if _, err := os.Stat(c.kept()); keep && os.IsNotExist(err) {
		_, _ = fmt.Fprintln(c.Log, "member: keeping the data that diverged as", c.kept())
		if err := os.Rename(c.data(), c.kept()); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(c.data()); err != nil {
		return err
	}
	return os.Rename(fresh, c.data())
}

// kept returns where data is put aside that diverged.
func (c Config) kept() string { return c.data() + ".diverged" }

// private makes a data directory its owner's alone, if it is there: PostgreSQL does not start
// with rights for others, and the kubelet gives such to the fsGroup when it mounts a volume.
func private(dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil && !os.IsNotExist(err) { //nolint:gosec // a directory
		return err
	}
	return nil
}

// quote returns a value as a configuration file has it.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
