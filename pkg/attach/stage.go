//go:build linux

package attach

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const (
	maxFiles    = 16
	maxFileSize = 64 << 20
)

var (
	fileName = regexp.MustCompile(`^(jmx-attach|agent|exporter|config)-([0-9a-f]{12})(\.jar|\.yaml)?$`)
	sha256s  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// stage writes files to Home, in the container of req.Target if there is one,
// else where the helper runs.
func stage(req Request, blobs io.Reader, report *Report) error {
	if len(req.Files) > maxFiles {
		return failf(ReasonBadRequest, "%d files are more than %d", len(req.Files), maxFiles)
	}
	for _, file := range req.Files {
		if err := checkFile(file); err != nil {
			return err
		}
	}
	h, err := homeOf(req.Target, true)
	if err != nil {
		return err
	}
	defer h.Close()
	if req.Target == nil {
		h.sweep()
	}
	for _, file := range req.Files {
		if err := h.stage(file, io.LimitReader(blobs, file.Size)); err != nil {
			return err
		}
		report.Files = append(report.Files, file)
	}
	return nil
}

// checkFile refuses what the operator never asks for. A name carries the digest,
// so that a file never changes under its name.
func checkFile(file File) error {
	name := fileName.FindStringSubmatch(file.Name)
	switch {
	case name == nil:
		return failf(ReasonBadRequest, "%q is not the name of a file of %s", file.Name, Home)
	case !sha256s.MatchString(file.SHA256):
		return failf(ReasonBadRequest, "the SHA-256 of %s is not one", file.Name)
	case !strings.HasPrefix(file.SHA256, name[2]):
		return failf(ReasonBadRequest, "%s is not named after its SHA-256 %s", file.Name, file.SHA256)
	case file.Size < 0 || file.Size > maxFileSize:
		return failf(ReasonBadRequest, "%s has %d bytes; at most %d are staged", file.Name, file.Size, maxFileSize)
	}
	return nil
}

// stage writes one file, or reads past its content if it is there already.
func (h *home) stage(file File, content io.Reader) error {
	verify := func(size int64, sum string) error {
		if size == file.Size && sum == file.SHA256 {
			return nil
		}
		return failf(ReasonStagingIncomplete, "%s arrived with %d of %d bytes and SHA-256 %s instead of %s",
			file.Name, size, file.Size, sum, file.SHA256)
	}
	if h.has(file) {
		size, err := io.Copy(io.Discard, content)
		if err == nil && size != file.Size {
			err = verify(size, "")
		}
		return err
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(file.Name, "jmx-attach-") {
		mode = 0o755
	}
	return h.write(file.Name, mode, content, verify)
}

// homeOf opens the Home that target sees, or our own if there is no target.
func homeOf(target *Target, create bool) (*home, error) {
	if target == nil {
		tmp, err := os.OpenRoot("/tmp")
		if errors.Is(err, fs.ErrNotExist) {
			return nil, failf(ReasonTmpNotWritable, "there is no /tmp; mount an emptyDir there")
		}
		if err != nil {
			return nil, err
		}
		defer tmp.Close()
		return openHome(tmp, create)
	}
	p, err := jvm.Lookup(target.PID, target.StartTime)
	if err != nil {
		return nil, err
	}
	return homeIn(p, create)
}

// homeIn opens the Home that a JVM sees.
func homeIn(p jvm.Process, create bool) (*home, error) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return openHome(tmp, create, p.UID)
}
