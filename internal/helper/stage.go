//go:build linux

package helper

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

const (
	maxFiles    = 16
	maxFileSize = 64 << 20
)

// isHex reports whether a text consists of lower-case hexadecimal digits.
func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// isSHA256 reports whether a text is a SHA-256 in lower-case hexadecimal.
func isSHA256(text string) bool { return len(text) == 64 && isHex(text) }

// stage writes files to the agent directory that req.Target sees or, without a target, to
// that of the container.
func stage(req helperapi.Request, by Helper, blobs io.Reader, report *helperapi.Report) error {
	if len(req.Files) > maxFiles {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%d files are more than %d.", len(req.Files), maxFiles)
	}
	for _, file := range req.Files {
		if err := checkFile(file); err != nil {
			return err
		}
	}
	if err := by.Jars.checkStaged(req.Files); err != nil {
		return err
	}
	if err := checkTmp(req); err != nil {
		return err
	}
	err := inDirectory(req, func(dir *directory) error {
		if req.Target == nil {
			dir.sweep()
		}
		missing := slices.DeleteFunc(slices.Clone(req.Files), dir.has)
		if err := dir.checkSpace(missing); err != nil {
			return err
		}
		return checkStagedMemory(req, missing)
	})
	if err != nil {
		return err
	}
	for _, file := range req.Files {
		content, err := by.Beside.open(file, blobs)
		if err != nil {
			return err
		}
		err = inDirectory(req, func(dir *directory) error { return dir.stage(file, content) })
		content.Close()
		if err != nil {
			return err
		}
		report.Files = append(report.Files, file)
	}
	return nil
}

// inDirectory calls do with the agent directory, which it creates if needed. A concurrent
// unload may remove the directory while it is empty: do has then neither read nor written
// anything, and is called again.
func inDirectory(req helperapi.Request, do func(*directory) error) (err error) {
	const tries = 10
	for range tries {
		dir, failed := directoryOf(req, true)
		if err = failed; err == nil {
			err = do(dir)
			dir.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// checkFile refuses files that the operator never sends. A name contains the digest, so
// the content of a name never changes.
func checkFile(file helperapi.File) error {
	digest, ok := helperapi.FileDigest(file.Name)
	switch {
	case !ok:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of a file of %s.", file.Name, helperapi.AgentDirectory)
	case !isSHA256(file.SHA256):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "The SHA-256 of %s is not one.", file.Name)
	case !strings.HasPrefix(file.SHA256, digest):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%s is not named after its SHA-256 %s.", file.Name, file.SHA256)
	case file.Size < 0 || file.Size > maxFileSize:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%s has %d bytes; at most %d are staged.", file.Name, file.Size, maxFileSize)
	}
	return nil
}

// stage writes one file, or skips its content if it exists already.
func (dir *directory) stage(file helperapi.File, content io.Reader) error {
	verify := func(size int64, sum string) error {
		if size == file.Size && sum == file.SHA256 {
			return nil
		}
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s did not arrive as the %d bytes announced.", file.Name, file.Size)
	}
	if dir.has(file) {
		now := time.Now()
		_ = dir.Chtimes(file.Name, now, now) // not a leftover; fails if another user owns it
		size, err := io.Copy(io.Discard, content)
		if err == nil && size != file.Size {
			err = verify(size, "")
		}
		return err
	}
	mode := fs.FileMode(0o644)
	switch {
	case strings.HasPrefix(file.Name, "jmx-attach-"):
		mode = 0o755
	case isSecurity(file.Name):
		mode = 0o600
	}
	return dir.write(file.Name, mode, content, verify)
}

// directoryOf opens the agent directory that the target sees or, without a target, the
// container's.
func directoryOf(req helperapi.Request, create bool) (*directory, error) {
	if req.Target != nil {
		p, err := lookup(req)
		if err != nil {
			return nil, err
		}
		return directoryIn(p, create)
	}
	tmp, err := openTmp(req)
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return openDirectory(tmp, create, nil)
}

// directoryIn opens the agent directory that a JVM sees.
func directoryIn(p jvm.Process, create bool) (*directory, error) {
	tmp, err := p.OpenTmp()
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	return openDirectory(tmp, create, &p)
}
