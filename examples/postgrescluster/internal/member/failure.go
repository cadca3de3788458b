package member

import (
	"errors"
	"fmt"
	"strings"
)

// The reasons of StartErrors, the first word of a termination message.
const (
	// NoData: there is no data on the claim, and the verb is run.
	NoData = "NoData"
	// DataForeign: the data is that of another cluster.
	DataForeign = "DataForeign"
	// DataInUse: another process holds the data.
	DataInUse = "DataInUse"
	// DiskFull: there is no space left on the claim.
	DiskFull = "DiskFull"
	// JoinFailed: the data could not be made to follow the primary.
	JoinFailed = "JoinFailed"
	// BackupFailed: a base backup could not be made.
	BackupFailed = "BackupFailed"
	// RestoreFailed: a base backup could not be copied.
	RestoreFailed = "RestoreFailed"
	// SeedFailed: initdb failed.
	SeedFailed = "SeedFailed"
	// PostgresEnded: PostgreSQL exited unexpectedly.
	PostgresEnded = "PostgresEnded"
	// Misconfigured: an argument or a variable is missing or wrong.
	Misconfigured = "Misconfigured"
)

// StartError is why a member ended.
type StartError struct {
	Reason, Message string
	Err             error
}

// Error is the termination message.
func (f *StartError) Error() string {
	if f.Err == nil {
		return f.Reason + ": " + f.Message
	}
	return fmt.Sprintf("%s: %s: %v", f.Reason, f.Message, f.Err)
}

// Unwrap returns the cause.
func (f *StartError) Unwrap() error { return f.Err }

// failed returns a StartError of this reason, or DiskFull where the words say that it is that.
func failed(reason, message string, err error) error {
	if f := (*StartError)(nil); errors.As(err, &f) {
		return err
	}
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
		return &StartError{Reason: DiskFull, Message: "The claim has no space left", Err: err}
	}
	return &StartError{Reason: reason, Message: message, Err: err}
}

// ReasonOf splits a termination message into its reason and the rest; the reason is empty
// if it is none of a member's.
func ReasonOf(message string) (reason, rest string) {
	reason, rest, _ = strings.Cut(message, ": ")
	switch reason {
	case NoData, DataForeign, DataInUse, DiskFull, JoinFailed, BackupFailed, RestoreFailed, SeedFailed, PostgresEnded, Misconfigured:
		return reason, rest
	}
	return "", message
}
