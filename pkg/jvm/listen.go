//go:build linux

package jvm

import (
	"slices"
	"strconv"
	"strings"
)

// ListeningPorts are the TCP ports in state LISTEN in the network namespace of
// process pid, ascending, each once, whatever address they are bound to.
func ListeningPorts(pid int) ([]int32, error) {
	data, err := readProc(pid, "net/tcp")
	if err != nil {
		return nil, err
	}
	v6, _ := readProc(pid, "net/tcp6") // absent where the kernel has no IPv6
	ports := append(parseListening(data), parseListening(v6)...)
	slices.Sort(ports)
	return slices.Compact(ports), nil
}

// parseListening parses proc_pid_net_tcp(5): local address and state are the
// second and fourth field, 0A is TCP_LISTEN.
func parseListening(data []byte) []int32 {
	var ports []int32
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != "0A" {
			continue
		}
		_, hex, _ := strings.Cut(fields[1], ":")
		if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
			ports = append(ports, int32(port))
		}
	}
	return ports
}
