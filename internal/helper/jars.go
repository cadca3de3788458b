//go:build linux

package helper

import (
	"io"
	"os"
	"path/filepath"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
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
		var f *os.File
		err := jvm.Outside(func() (err error) { // in this container, not as a user of another
			f, err = os.Open(jar)
			return err
		})
		return f, err
	}
	return io.NopCloser(io.LimitReader(arriving, file.Size)), nil
}

// Jars are the SHA-256 of the jars that a session may load into JVMs: those named on its
// command line, or beside the helper. An admission policy sees the command line of an
// exec but not its standard input, so a request there must not be able to add others. nil
// allows all, for the command-line tool.
type Jars []string

// Jars returns the digests of the jars beside the helper.
func (b Beside) Jars() Jars {
	jars := Jars{}
	for file := range b {
		jars = append(jars, file.SHA256)
	}
	return jars
}

func (j Jars) allow(sha256 string) bool { return j == nil || slices.Contains(j, sha256) }

// checkStaged refuses files other than the session's jars, configurations, and security
// files. The latter two are only data to the agent.
func (j Jars) checkStaged(files []helperapi.File) error {
	for _, file := range files {
		data := helperapi.IsNamed(file.Name, "config-", ".yaml") || directory.IsSecurity(file.Name)
		if !data && !j.allow(file.SHA256) {
			return helperapi.Errorf(helperapi.ReasonBadRequest, "%s is none of the jars that the session was started with.", file.Name)
		}
	}
	return nil
}
