package controller

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/membertest"
)

// Troubles are what happens to members beside their end. Each ends by itself, so that a member that
// is told to end does so.
type troubles struct {
	w       *world
	running sync.WaitGroup
	ended   context.Context
	end     context.CancelFunc
}

func newTroubles(w *world) *troubles {
	tr := &troubles{w: w}
	tr.ended, tr.end = context.WithCancel(w.t.Context())
	w.t.Cleanup(tr.stop)
	return tr
}

// stop ends all troubles at once.
func (tr *troubles) stop() {
	tr.end()
	tr.running.Wait()
}

// stopped stops processes of a member for a time: its server alone, which then takes no connection
// while standbys stream and commits are acknowledged, or all.
func (tr *troubles) stopped(name string, all bool, d time.Duration) {
	tr.signaled(name, all, d, 0)
}

// slowed has a member run for a tenth of a time.
func (tr *troubles) slowed(name string, d time.Duration) {
	tr.signaled(name, true, d, 50*time.Millisecond)
}

// signaled stops processes for a time, but for as long as runs of every ten times that, if it is set.
func (tr *troubles) signaled(name string, all bool, d, runs time.Duration) {
	process := tr.w.kubelet.process(name)
	if process == nil {
		return
	}
	tr.running.Go(func() {
		ctx, cancel := context.WithTimeout(tr.ended, d)
		defer cancel()
		pids := process.Processes()
		if !all {
			pids = pids[:min(len(pids), 2)] // the program member, and the server
		}
		signal := func(s syscall.Signal) {
			for _, pid := range pids {
				_ = syscall.Kill(pid, s)
			}
		}
		defer signal(syscall.SIGCONT)
		for ctx.Err() == nil {
			signal(syscall.SIGSTOP)
			if runs == 0 {
				<-ctx.Done()
				return
			}
			pause(ctx, 9*runs)
			signal(syscall.SIGCONT)
			pause(ctx, runs)
		}
	})
}

// lagsAlone ends a standby, and has it be the only member that is back after a while: commits that the
// other one acknowledged meanwhile it does not have. What a standby that was only stopped lacks may
// wait in its socket.
func (tr *troubles) lagsAlone(name string) {
	tr.ends(name)
	tr.running.Go(func() {
		pause(tr.ended, 3*time.Second)
		for ordinal := range 3 {
			if other := memberName("db", ordinal); other != name && tr.ended.Err() == nil {
				tr.ends(other)
			}
		}
		tr.w.kubelet.release(name)
	})
}

// ends kills a member, and holds it.
func (tr *troubles) ends(name string) {
	tr.w.kubelet.hold(name)
	if process := tr.w.kubelet.process(name); process != nil {
		process.Kill()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// filled has a member's volume without space for a time.
func (tr *troubles) filled(name string, d time.Duration) {
	data := tr.w.kubelet.data(name)
	filler := filepath.Join(filepath.Dir(data), "filler")
	tr.running.Go(func() {
		ctx, cancel := context.WithTimeout(tr.ended, d)
		defer cancel()
		_ = exec.CommandContext(ctx, "dd", "if=/dev/zero", "of="+filler, "bs=1M").Run() // which ends when the volume is full
		<-ctx.Done()
		if out, err := exec.Command("rm", "-f", filler).CombinedOutput(); err != nil {
			tr.w.t.Errorf("%s", out)
		}
	})
}

// process is that of a member's pod; nil if there is none.
func (k *kubelet) process(name string) *membertest.Process {
	pod := &corev1.Pod{}
	if admin.Get(k.t.Context(), client.ObjectKey{Namespace: k.namespace, Name: name}, pod) != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.processes[pod.UID]
}

// boundWAL has a member's WAL, of which each promotion takes a segment, leave room on a smallVolume:
// wal_keep_size, the data, and two copies of it. Copies have the setting, too.
func (w *world) boundWAL(name string) {
	w.t.Helper()
	file, err := os.OpenFile(filepath.Join(w.kubelet.data(name), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	w.must(err)
	_, err = file.WriteString("max_wal_size = 96MB\nmin_wal_size = 32MB\n")
	w.must(errors.Join(err, file.Close()))
	w.sql(name, "SELECT pg_reload_conf()")
}

// smallVolume is one with an end, in memory.
func smallVolume(t *testing.T) string {
	t.Helper()
	volume := membertest.Volume(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=700m,mode=0777", "tmpfs", volume).CombinedOutput(); err != nil {
		t.Errorf("a small file system needs root: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", volume).CombinedOutput(); err != nil {
			t.Errorf("%s", out)
		}
	})
	return volume
}
