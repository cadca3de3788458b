//go:build linux

package jvm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
)

const (
	// maxMaps bounds what is read of a process' maps, which are as long as it
	// wants: enough for the 262 144 mappings that search engines and brokers ask
	// for, of files with long names.
	maxMaps = 128 << 20
	// maxMapsLine bounds one line; a path has at most 4 KiB, each byte of which may
	// be escaped by four.
	maxMapsLine = 32 << 10
)

var errMapsTooLong = errors.New("its memory maps are too long to be read")

// findLibrary finds the virtual machine of a process: see parseMaps.
func findLibrary(pid int) (implementation Implementation, library string, err error) {
	f, err := os.Open(procPath(pid, "maps"))
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	return parseMaps(f, maxMaps)
}

// parseMaps finds the virtual machine among the executable mappings of
// proc_pid_maps(5) and returns its library's path, in the process' own file
// system. Executable, because a tool that only reads a libjvm.so maps it too. It
// reads at most limit bytes, all of which it takes to tell a HotSpot: OpenJ9 has a
// libjvm.so too.
func parseMaps(maps io.Reader, limit int64) (implementation Implementation, library string, err error) {
	bounded := &io.LimitedReader{R: maps, N: limit}
	for lines := bufio.NewReaderSize(bounded, maxMapsLine); ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || bounded.N == 0:
			return "", "", errMapsTooLong
		case err == io.EOF:
			return implementation, library, nil
		case err != nil:
			return "", "", err
		}
		if !bytes.Contains(line, []byte("libj")) {
			continue
		}
		name := mappedCode(string(line))
		switch base := path.Base(name); {
		case strings.HasPrefix(base, "libj9vm"):
			return OpenJ9, name, nil
		case base == "libjvm.so":
			implementation, library = HotSpot, name
		}
	}
}

// mappedCode returns the path in a line of proc_pid_maps(5), empty if there is
// none or nothing in it is executed: address perms offset dev inode pathname,
// which may hold spaces.
func mappedCode(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.Contains(fields[1], "x") {
		return ""
	}
	name := strings.TrimSuffix(line[strings.Index(line, fields[5]):], "\n")
	return strings.TrimSuffix(name, " (deleted)")
}
