//go:build linux

package jvm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/pseudofs"
)

// limit bounds every file that is read whole from or through /proc, in bytes. It exceeds
// the 6 MiB that the kernel allows for command line and environment together.
const limit = 8 << 20

// procPath returns the path of a file of process pid.
func procPath(pid int, name string) string {
	return path.Join("/proc", strconv.Itoa(pid), name)
}

// readBounded reads at most limit bytes of f.
func readBounded(f io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(f, limit))
}

// readProc reads a file of process pid.
func readProc(pid int, name string) ([]byte, error) {
	return pseudofs.ReadFile(procPath(pid, name), limit)
}

// StartTime returns the start time of process pid in clock ticks since boot. It returns
// an Error of Kind ProcessGone if the process does not exist or is a zombie.
func StartTime(pid int) (uint64, error) {
	data, err := readProc(pid, "stat")
	if err != nil {
		return 0, errorf(ProcessGone, "There is no process %d.", pid)
	}
	s, err := parseStat(data)
	if err == nil && (s.state == 'Z' || s.state == 'X') {
		return 0, errorf(ProcessGone, "Process %d has exited.", pid)
	}
	return s.start, err
}

// stat contains the fields in use of proc_pid_stat(5), of a process or a thread.
type stat struct {
	state byte
	start uint64        // in ticks since boot
	cpu   time.Duration // user and system time; for a process, of all its threads
}

// tick is the unit of times in proc_pid_stat(5): USER_HZ is 100 on every
// architecture that Go runs on.
const tick = 10 * time.Millisecond

// parseStat parses state, utime, stime and starttime, fields 3, 14, 15 and 22 of
// proc_pid_stat(5). Field 2 is the command in parentheses, which may itself contain
// spaces and parentheses, so fields are counted from the last one.
func parseStat(data []byte) (stat, error) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return stat{}, errors.New("proc stat: no command")
	}
	fields := bytes.Fields(data[end+1:])
	if len(fields) < 20 {
		return stat{}, errors.New("proc stat: too few fields")
	}
	var ticks [3]uint64
	for i, field := range []int{14, 15, 22} {
		var err error
		if ticks[i], err = strconv.ParseUint(string(fields[field-3]), 10, 64); err != nil {
			return stat{}, fmt.Errorf("proc stat: field %d: %w", field, err)
		}
	}
	return stat{state: fields[0][0], start: ticks[2], cpu: time.Duration(ticks[0]+ticks[1]) * tick}, nil
}

// status contains the fields in use of proc_pid_status(5).
type status struct {
	uid, gid     int // effective
	realUID      int
	groups       []int // supplementary
	nspids       []int // the PIDs in our namespace and those below it, down to the one that the process sees
	threads      int64
	caught       uint64
	capabilities uint64 // effective
	permitted    uint64 // capabilities
}

// sigquit is SIGQUIT's bit in the signal masks of proc_pid_status(5).
const sigquit = 1 << (3 - 1)

// parseStatus parses proc_pid_status(5). Kernels before 4.1 have no NSpid; the process is
// then assumed to be in our own namespace.
func parseStatus(data []byte) (status, error) {
	s := status{uid: -1, gid: -1}
	for line := range strings.Lines(string(data)) {
		key, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		var err error
		switch {
		case key == "Pid" && len(fields) == 1:
			s.nspids, err = parseIDs(fields)
		case key == "NSpid" && len(fields) > 0:
			s.nspids, err = parseIDs(fields)
		case key == "Uid" && len(fields) == 4: // real, effective, saved, file system
			s.realUID, s.uid, err = twoIDs(fields)
		case key == "Gid" && len(fields) == 4:
			s.gid, err = strconv.Atoi(fields[1])
		case key == "Groups":
			s.groups, err = parseIDs(fields)
		case key == "SigCgt" && len(fields) == 1:
			s.caught, err = strconv.ParseUint(fields[0], 16, 64)
		case key == "CapEff" && len(fields) == 1:
			s.capabilities, err = strconv.ParseUint(fields[0], 16, 64)
		case key == "CapPrm" && len(fields) == 1:
			s.permitted, err = strconv.ParseUint(fields[0], 16, 64)
		case key == "Threads" && len(fields) == 1:
			s.threads, err = strconv.ParseInt(fields[0], 10, 64)
		}
		if err != nil {
			return s, fmt.Errorf("proc status: %s: %w", key, err)
		}
	}
	if s.uid < 0 || s.gid < 0 || len(s.nspids) == 0 {
		return s, errors.New("proc status: incomplete")
	}
	return s, nil
}

// twoIDs parses the real and the effective ID of proc_pid_status(5).
func twoIDs(fields []string) (actual, effective int, err error) {
	if actual, err = strconv.Atoi(fields[0]); err != nil {
		return 0, 0, err
	}
	effective, err = strconv.Atoi(fields[1])
	return actual, effective, err
}

// parseIDs parses the IDs in a line of proc_pid_status(5).
func parseIDs(fields []string) ([]int, error) {
	var ids []int
	for _, field := range fields {
		id, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// splitNul splits the NUL-terminated strings of cmdline and environ.
func splitNul(data []byte) []string {
	text := strings.TrimSuffix(string(data), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// lookupEnv returns a variable of the environment that a process started with.
func lookupEnv(environ []string, name string) string {
	for _, e := range environ {
		if key, value, _ := strings.Cut(e, "="); key == name {
			return value
		}
	}
	return ""
}
