package member

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Start does what the verb says and, but for Backup, runs PostgreSQL, until the context ends
// or PostgreSQL does. What it returns is a *StartError, or nil where the context ended PostgreSQL.
func (c Config) Start(ctx context.Context) error {
	if c.Verb == Backup {
		return c.backup(ctx)
	}
	lock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := c.writeHBA(); err != nil {
		return failed(PostgresEnded, "The claim cannot be written", err)
	}
	if err := private(c.data()); err != nil {
		return failed(PostgresEnded, "The data directory cannot be changed", err)
	}
	if err := c.prepare(ctx, lock); err != nil {
		return err
	}
	return c.serve(ctx, lock, nil)
}

func (c Config) prepare(ctx context.Context, lock *os.File) error {
	own, err := c.identify(ctx)
	if err != nil {
		return err
	}
	if own != "" && c.SystemIdentifier != "" && own != c.SystemIdentifier {
		return failed(DataForeign, fmt.Sprintf("The claim has the data of another cluster, whose system identifier is %s, not %s; give this member an empty claim", own, c.SystemIdentifier), nil)
	}
	switch {
	case c.Verb == Join:
		return c.join(ctx, lock, own != "")
	case own != "":
		return nil
	case c.Verb == Seed:
		return c.seed(ctx)
	case c.Verb == Restore:
		return c.restore()
	}
	return failed(NoData, "The claim has no data", nil)
}

// identify returns the system identifier of the data; empty if there is no data.
func (c Config) identify(ctx context.Context) (string, error) {
	if _, err := os.Stat(filepath.Join(c.data(), "global", "pg_control")); os.IsNotExist(err) {
		return "", nil
	}
	control, err := c.control(ctx)
	if err != nil {
		return "", failed(PostgresEnded, "The data cannot be read", err)
	}
	return control["Database system identifier"], nil
}

// seed runs initdb.
func (c Config) seed(ctx context.Context) error {
	if err := c.create(false, func(dir string) error {
		// By a file, since arguments and environments are read by others.
		password := dir + ".password"
		if err := os.WriteFile(password, []byte(c.Password+"\n"), 0o600); err != nil {
			return err
		}
		defer func() { _ = os.Remove(password) }()
		_, err := c.program(ctx, "initdb", "-D", dir, "-U", User, "--pwfile="+password, "--encoding=UTF8", "--locale=C.UTF-8",
			"--data-checksums", "--auth=scram-sha-256") // pg_rewind needs checksums, or hints in the log
		return err
	}); err != nil {
		return failed(SeedFailed, "initdb failed", err)
	}
	return nil
}
