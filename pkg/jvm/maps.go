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
	// maxMaps limits how much of a process' maps is read, since a process can make them
	// arbitrarily long. It suffices for the 262 144 mappings that search engines and
	// brokers require, with long file names.
	maxMaps = 128 << 20
	// maxMapsLine limits one line: a path has at most 4 KiB, and each byte may be escaped
	// as four.
	maxMapsLine = 32 << 10
)

var errMapsTooLong = errors.New("its memory maps are too long to be read")

// findLibrary returns the VM of a process: see parseMaps.
func findLibrary(pid int) (implementation Implementation, library string, err error) {
	f, err := os.Open(procPath(pid, "maps"))
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	return parseMaps(f, maxMaps)
}

// parseMaps finds the VM among the executable mappings of proc_pid_maps(5), and returns
// the path of its library in the process' own file system. Tools that only read a
// libjvm.so map it too, but not as executable. It reads at most limit bytes, and needs
// all of the maps to identify HotSpot, because OpenJ9 has a libjvm.so too.
func parseMaps(maps io.Reader, limit int64) (implementation Implementation, library string, err error) {
	err = eachMapping(maps, limit, func(line []byte) bool {
		if !bytes.Contains(line, []byte("libj")) {
			return true
		}
		name := mappedCode(string(line))
		switch base := path.Base(name); {
		case strings.HasPrefix(base, "libj9vm"):
			implementation, library = OpenJ9, name
			return false
		case base == "libjvm.so":
			implementation, library = HotSpot, name
		}
		return true
	})
	if err != nil {
		return "", "", err
	}
	return implementation, library, nil
}

// eachMapping visits the lines of proc_pid_maps(5) until visit returns false. It reads at
// most limit bytes, and returns errMapsTooLong if there are more.
func eachMapping(maps io.Reader, limit int64, visit func(line []byte) bool) error {
	bounded := &io.LimitedReader{R: maps, N: limit}
	for lines := bufio.NewReaderSize(bounded, maxMapsLine); ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || bounded.N == 0:
			return errMapsTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !visit(line):
			return nil
		}
	}
}

// mappedCode returns the path in a line of proc_pid_maps(5) (address perms offset dev
// inode pathname), which may contain spaces. It is empty if the mapping has no path or is
// not executable.
func mappedCode(line string) string {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.Contains(fields[1], "x") {
		return ""
	}
	name := strings.TrimSuffix(line[strings.Index(line, fields[5]):], "\n")
	return strings.TrimSuffix(name, " (deleted)")
}
