//go:build linux

package jvm

import (
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/pseudofs"
)

// ListeningPorts returns the TCP ports in state LISTEN in the network namespace of
// process pid, on any address, ascending and without duplicates.
func ListeningPorts(pid int) ([]int32, error) {
	all, err := listeners(pid)
	return portsOf(all), err
}

// ListeningPorts returns the TCP ports that this process listens on, ascending and
// without duplicates: those of the sockets that it has open.
func (p Process) ListeningPorts() ([]int32, error) {
	all, err := listeners(p.PID)
	if err != nil {
		return nil, err
	}
	open, err := p.OpenFiles()
	if err != nil {
		return nil, err
	}
	return portsOf(slices.DeleteFunc(all, func(l listener) bool {
		return !slices.Contains(open, "socket:["+l.inode+"]")
	})), nil
}

// listener is a TCP socket in state LISTEN.
type listener struct {
	port  int32
	inode string // of the socket, as in proc_pid_fd(5)
}

// portsOf returns the ports of listeners, ascending and without duplicates.
func portsOf(all []listener) []int32 {
	var ports []int32
	for _, l := range all {
		ports = append(ports, l.port)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// maxSocketLine is more than the longest line of net/tcp and net/tcp6, in bytes: 150 and some 200
// (tcp4_seq_show and get_tcp6_sock in the kernel).
const maxSocketLine = 512

func listeners(pid int) ([]listener, error) {
	data, err := pseudofs.ReadRecords(procPath(pid, "net/tcp"), maxSocketLine, limit)
	if err != nil {
		return nil, err
	}
	v6, _ := pseudofs.ReadRecords(procPath(pid, "net/tcp6"), maxSocketLine, limit) // absent where the kernel has no IPv6
	return append(parseListening(data), parseListening(v6)...), nil
}

// parseListening parses proc_pid_net_tcp(5): fields 2 and 4 are local address and state
// (0A is TCP_LISTEN), field 10 is the inode.
func parseListening(data []byte) []listener {
	var all []listener
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
			all = append(all, listener{int32(port), fields[9]})
		}
	}
	return all
}
