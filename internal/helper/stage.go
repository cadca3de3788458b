//go:build linux

package helper

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/internal/helper/directory"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// maxFiles limits how many files are staged at once.
const maxFiles = 16

// stage writes files to the agent directory that req.Target sees or, without a target, to
// that of the container.
func stage(req helperapi.Request, beside Beside, jars Jars, blobs io.Reader, report *helperapi.Report) error {
	if len(req.Files) > maxFiles {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%d files are more than %d.", len(req.Files), maxFiles)
	}
	for _, file := range req.Files {
		if err := directory.CheckFile(file); err != nil {
			return err
		}
	}
	if err := jars.checkStaged(req.Files); err != nil {
		return err
	}
	if req.Candidate != nil { // nothing is written for a judgement that cannot be had
		if err := requireAgent(req); err != nil {
			return err
		}
	}
	if err := checkTmp(req); err != nil {
		return err
	}
	staged := make([]string, 0, len(req.Files)+1)
	for _, file := range req.Files {
		staged = append(staged, file.Name)
	}
	if self, err := os.Executable(); err == nil {
		staged = append(staged, path.Base(self))
	}
	err := inDirectory(req, func(dir *directory.Directory) error {
		if req.Target == nil {
			dir.Sweep()
		}
		dir.PruneSpares(staged...)
		missing := slices.DeleteFunc(slices.Clone(req.Files), dir.Has)
		if err := checkSpace(dir, missing); err != nil {
			return err
		}
		return checkStagedMemory(req, missing)
	})
	if err != nil {
		return err
	}
	for _, file := range req.Files {
		content, err := beside.open(file, blobs)
		if err != nil {
			return err
		}
		err = inDirectory(req, func(dir *directory.Directory) error { return dir.Stage(file, content) })
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
func inDirectory(req helperapi.Request, do func(*directory.Directory) error) (err error) {
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
