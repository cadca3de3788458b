package member

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// join makes the data follow the primary.
//
// Data of the primary's own promotion follows it as it is: it is a prefix of what the
// primary has. Data of the promotion that the primary was promoted from shares its log up
// to there, so that pg_rewind takes it back to where they part; what it had beyond that was
// never acknowledged. Any other data may have a timeline of the same number and another
// content, which pg_rewind cannot tell: it is copied again. So is data whose history says that
// it is not what its promotion says; what it had is kept once.
func (c Config) join(ctx context.Context, lock *os.File, data bool) error {
	var err error
	diverged := ""
	own := c.followed()
	rewinds := own != c.Promotion
	if data && !c.interrupted() && (!rewinds || own != 0 && own == c.PromotedFrom) {
		if diverged, err = c.wrongHistory(ctx, rewinds); err != nil {
			return failed(JoinFailed, "The history of the data could not be compared with the primary's", err)
		}
	}
	switch {
	case !data:
	case c.interrupted():
		err = errors.New("a pg_rewind did not come to its end")
	case diverged != "":
		err = fmt.Errorf("it diverged from the primary: %s", diverged)
	case own == c.Promotion:
		return c.follow()
	case own != 0 && own == c.PromotedFrom:
		if err = c.rewind(ctx, lock); err == nil || ctx.Err() != nil {
			return err
		}
	default:
		err = fmt.Errorf("the data is of promotion %d, and the primary, of promotion %d, was promoted from %d", own, c.Promotion, c.PromotedFrom)
	}
	if err != nil {
		_, _ = fmt.Fprintln(c.Log, "member: copying the data again:", err)
	}
	if err := c.create(diverged != "", func(dir string) error {
		_, err := c.program(ctx, "pg_basebackup", "--pgdata="+dir, "--host="+c.Primary, fmt.Sprint("--port=", Port), "--username="+User,
			"--wal-method=stream", "--checkpoint=fast", "--no-password")
		if err != nil {
			return err
		}
		return c.followIn(dir)
	}); err != nil {
		return failed(JoinFailed, "The data could not be copied from the primary", err)
	}
	return os.RemoveAll(c.rewinding())
}

// rewind takes the data back to where it parts from the primary's. pg_rewind reads data
// of a server that was shut down; what was killed is started once, alone, and shut down. It
// comes up as a standby, which writes nothing of its own into the log: in single-user mode,
// as pg_rewind does it, it would.
func (c Config) rewind(ctx context.Context, lock *os.File) error {
	control, err := c.control(ctx)
	if err != nil {
		return err
	}
	if state := control["Database cluster state"]; state != "shut down" && state != "shut down in recovery" {
		alone, stop := context.WithTimeout(ctx, recoveryTimeout)
		defer stop()
		if err := c.serve(alone, lock, stop, "-c", "listen_addresses=", "-c", "unix_socket_directories="+c.Volume, "-c", "primary_conninfo=", "-c", "primary_slot_name="); err != nil {
			return err
		}
	}
	// What pg_rewind leaves half done cannot be used again: this says so.
	if err := os.WriteFile(c.rewinding(), nil, 0o600); err != nil {
		return err
	}
	if _, err := c.program(ctx, "pg_rewind", "--target-pgdata="+c.data(), "--no-ensure-shutdown",
		fmt.Sprintf("--source-server=host=%s port=%d user=%s dbname=postgres", c.Primary, Port, User)); err != nil {
		return err
	}
	if err := c.follow(); err != nil {
		return err
	}
	return os.Remove(c.rewinding())
}

// recoveryTimeout is how long a server that was killed may take to come up alone; pg_rewind
// refuses the data of one that did not.
const recoveryTimeout = 5 * time.Minute

func (c Config) rewinding() string { return c.data() + ".rewinding" }

// interrupted reports whether a pg_rewind did not come to its end.
func (c Config) interrupted() bool {
	_, err := os.Stat(c.rewinding())
	return !os.IsNotExist(err)
}

// followed returns the number of the promotion that the data is of, as the name of its slot
// says; 0 if it says none.
func (c Config) followed() int64 {
	file, err := os.Open(filepath.Join(c.data(), autoConf))
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	var number int64
	for scanner := bufio.NewScanner(file); scanner.Scan(); { // the last one counts
		if name, value, ok := strings.Cut(scanner.Text(), "="); ok && strings.TrimSpace(name) == "primary_slot_name" {
			number = PromotionOf(strings.Trim(strings.TrimSpace(value), "'"))
		}
	}
	return number
}

// autoConf is the file that ALTER SYSTEM writes.
const autoConf = "postgresql.auto.conf"

// follow has the data follow the primary in its promotion.
func (c Config) follow() error { return c.followIn(c.data()) }

func (c Config) followIn(dir string) error {
	content := fmt.Sprintf("primary_conninfo = %s\nprimary_slot_name = %s\n", quote(ConnectionTo(c.Primary)), quote(Slot(c.Promotion, c.Name)))
	path := filepath.Join(dir, autoConf)
	// Beside it first: half a file would keep the server from starting.
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return failed(JoinFailed, "The data directory cannot be written", err)
	}
	return os.Rename(path+".new", path)
}

// ConnectionTo is the primary_conninfo that leads to an address. The password comes from
// the environment of the server.
func ConnectionTo(address string) string {
	return fmt.Sprintf("host=%s port=%d user=%s", address, Port, User)
}
