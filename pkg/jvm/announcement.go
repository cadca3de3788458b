//go:build linux

package jvm

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pending is how long a SIGQUIT may take to have an effect: while the JVM's threads reach
// a safepoint, or while it is paused. After that, the announcer is assumed to have died
// before sending the signal.
const pending = 5 * time.Minute

// announce creates .attach_pid<pid>, by which HotSpot distinguishes an attacher's SIGQUIT
// from a person's. It reports whether another announcement is in effect: a recent one of
// another attacher, or one of any age that notes that this JVM was sent SIGQUIT. It takes
// over any other one: an older one, or one for a former JVM with this PID.
//
// HotSpot looks in its working directory first, then in /tmp, and requires the file to be
// owned by the JVM's user. The file is created in /tmp, which the socket needs anyway;
// the working directory belongs to the application.
func (p Process) announce() (other bool, err error) {
	name := p.announcement()
	err = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		if cwd, err := p.openRoot("cwd"); err == nil {
			defer cwd.Close()
			if info, err := cwd.Lstat(name); err == nil && !p.owns(info) {
				return errorf(AttachFailed, "%s in the JVM's working directory belongs to somebody else; HotSpot would not start its attach listener.", name)
			}
		}
		f, err := tmp.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return f.Close()
		}
		info, known := tmp.Lstat(name)
		if known != nil || !p.owns(info) {
			return errorf(AttachFailed, "/tmp/%s cannot be created: %v.", name, err)
		}
		if other = p.inEffect(tmp, info); other {
			return nil
		}
		now := time.Now()
		return tmp.Chtimes(name, now, now)
	})
	return other, err
}

// announced reports whether another announcement is in effect, and changes nothing.
func (p Process) announced() (other bool, err error) {
	err = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		info, err := tmp.Lstat(p.announcement())
		other = err == nil && p.owns(info) && p.inEffect(tmp, info)
		return nil
	})
	return other, err
}

// inEffect reports whether an announcement, which exists, is in effect: see announce.
func (p Process) inEffect(tmp *os.Root, info fs.FileInfo) bool {
	return p.wasSignaled(tmp) || time.Since(info.ModTime()) < min(ageOf(p.StartTime), pending)
}

// note records in the announcement that this JVM is sent SIGQUIT. It is called before the
// signal: a helper that dies in between has sent none, and none is better than two. It
// appends a line, because JVMs that share a /tmp may have the same PID.
func (p Process) note() error {
	tmp, err := p.OpenTmp()
	if err != nil {
		return err
	}
	defer tmp.Close()
	f, err := tmp.OpenFile(p.announcement(), os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, p.StartTime)
	return err
}

// wasSignaled reports whether the announcement contains this JVM's note.
func (p Process) wasSignaled(tmp *os.Root) bool {
	noted, err := readRegular(tmp, p.announcement())
	return err == nil && slices.Contains(strings.Fields(noted), strconv.FormatUint(p.StartTime, 10))
}

// announcement returns the name of the announcement file in /tmp.
func (p Process) announcement() string { return fmt.Sprintf(".attach_pid%d", p.NamespacePID) }

// withdraw removes the announcement.
func (p Process) withdraw() {
	// A leftover is not an error: the next attacher takes an old announcement over.
	_ = p.As(func() error {
		tmp, err := p.OpenTmp()
		if err != nil {
			return err
		}
		defer tmp.Close()
		return tmp.Remove(p.announcement())
	})
}

// owns reports whether a file belongs to the JVM's user, or to root, which HotSpot also
// trusts since JDK 9.
func (p Process) owns(info fs.FileInfo) bool {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	return info.Mode().IsRegular() && (uid == p.UID || uid == p.RootUID() && Major(p.Version) != 8)
}

// ageOf is age. A variable for a test.
var ageOf = age
