//go:build linux

package helper

import (
	"io"
	"os"
	"path/filepath"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// Beside are files that the helper has beside it, as in the operator's image, and
// that it stages without their being sent: where each lies.
type Beside map[helperapi.File]string

// FindBeside finds the agent's jars in a directory. A jar that is not there, or cannot
// be read, is left out: it is sent then.
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

// open is the content of a file: as it lies there, or as it arrives. It is held
// against size and digest when it is staged.
func (b Beside) open(file helperapi.File, arriving io.Reader) (io.ReadCloser, error) {
	if jar, ok := b[file]; ok {
		return os.Open(jar)
	}
	return io.NopCloser(io.LimitReader(arriving, file.Size)), nil
}
