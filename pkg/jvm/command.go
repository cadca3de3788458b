//go:build linux

package jvm

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Property reads one system property of the JVM, whose attach listener must be running.
// It never signals. The other properties never leave this function.
func (p Process) Property(ctx context.Context, name string) (value string, found bool, err error) {
	code, text, err := p.execute(ctx, maxProperties, "properties")
	if err != nil {
		return "", false, asError(err)
	}
	if code != 0 {
		return "", false, errorf(AttachFailed, "The JVM answered %d to the question for its properties.", code)
	}
	value, found = findProperty(text, name)
	return value, found, nil
}

// LoadAgent makes the JVM, whose attach listener must be running, load a Java agent, and
// waits for its agentmain to return. The jar is a path as the JVM sees it; jar and
// options are limited to 1022 bytes together. A nil error means that agentmain returned;
// after an error of Kind AttachTimeout, the outcome is unknown.
func (p Process) LoadAgent(ctx context.Context, jar, options string) error {
	const absolutePath = "false" // of "instrument": the library lies in java.home
	code, text, err := p.execute(ctx, maxReply, "load", "instrument", absolutePath, jar+"="+options)
	if err != nil {
		return asError(err)
	}
	if err := decodeLoad(code, text); err != nil {
		return err
	}
	return nil
}

// Limits of a reply, in bytes. Code in the JVM may set a million properties, of which one
// is searched for. The other replies have some kilobytes. Regular expressions search them,
// for which 8 MiB of each would take seconds of the container's CPU, beyond any deadline.
const (
	maxProperties = 8 << 20
	maxReply      = 1 << 20
)

// execute sends one command to the JVM and returns its reply. One of more than limit bytes
// is an error, since nothing can be concluded from a part of it. It never signals: without
// a listener it returns errNotListening. The JVM executes commands one at a time in the
// order of their connections, even if the client has disconnected.
func (p Process) execute(ctx context.Context, limit int64, command string, args ...string) (code int, text string, err error) {
	request, err := encodeRequest(command, args...)
	if err != nil {
		return 0, "", err
	}
	conn, err := p.connect()
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(request); err != nil {
		return 0, "", p.broken(command, err)
	}
	reply, err := io.ReadAll(io.LimitReader(conn, limit+1))
	if err != nil {
		return 0, "", p.broken(command, err)
	}
	if int64(len(reply)) > limit {
		return 0, "", errorf(AttachFailed, "The JVM answers %q with more than %d bytes, of which nothing can be concluded. Shorten its options, or let its code set fewer system properties.", command, limit)
	}
	if len(reply) == 0 {
		return 0, "", errorf(AttachFailed, "The JVM closed the attach connection without an answer; it does that to other users and groups than its own (%d, %d), and when it exits.", p.UID, p.GID)
	}
	code, text, err = decodeReply(reply)
	if err != nil {
		return 0, "", errorf(AttachFailed, "%s: %v.", command, err)
	}
	return code, text, nil
}

// broken converts an error on the attach connection to one that names the cause.
func (p Process) broken(command string, err error) error {
	if gone := p.verify(); gone != nil {
		return gone
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errorf(AttachTimeout, "The JVM did not answer %q in time; it may be paused, starved of CPU, or busy with another attacher.", command)
	}
	return errorf(AttachFailed, "%s: %v.", command, err)
}
