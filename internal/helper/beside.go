//go:build linux

package helper

import (
	"io"
	"os"
	"path/filepath"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Beside maps files that are next to the helper, as in the operator's image, to their
// paths. They are staged from there, without being sent.
type Beside map[helperapi.File]string

// FindBeside finds the agent's jars in a directory. It omits a jar that is missing or
// unreadable, which is then sent instead.
func FindBeside(dir string) Beside {
	beside := Beside{}
	for _, name := range []string{"agent", "exporter"} {
		jar := filepath.Join(dir, name+".jar")
		if content, err := os.ReadFile(jar); err == nil {
			beside[helperapi.NewFile(name+"-", content, ".jar")] = jar
		}
	}
	return beside
}

// open returns the content of a file: from beside the helper, or from the arriving
// contents. Size and digest are verified during staging.
func (b Beside) open(file helperapi.File, arriving io.Reader) (io.ReadCloser, error) {
	if jar, ok := b[file]; ok {
		return os.Open(jar)
	}
	return io.NopCloser(io.LimitReader(arriving, file.Size)), nil
}
