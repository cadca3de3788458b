package member

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

// waitingForClaim is what a member logs while another one holds its claim.
const waitingForClaim = "member: waiting for processes of an earlier member to release the claim"

// lockTimeout is how long the processes of a member that was killed are waited for.
const lockTimeout = time.Minute

// lock takes the volume for this member alone. PostgreSQL inherits the lock, so that it is
// held until the last process of a server that was killed is gone: its own lock file says
// nothing, since it names a process of another container.
func (c Config) lock(ctx context.Context) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(c.Volume, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, failed(DataInUse, "The claim cannot be locked", err)
	}
	waits := sync.OnceFunc(func() { _, _ = fmt.Fprintln(c.Log, waitingForClaim) })
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, lockTimeout, true, func(context.Context) (bool, error) {
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true, nil
		}
		waits()
		return false, nil
	}); err != nil {
		_ = file.Close()
		return nil, failed(DataInUse, "Processes of an earlier member still use the claim", err)
	}
	if err := os.Remove(filepath.Join(c.data(), "postmaster.pid")); err != nil && !os.IsNotExist(err) {
		return nil, failed(DataInUse, "The lock file of an earlier server cannot be removed", err)
	}
	return file, nil
}
