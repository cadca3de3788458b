//go:build linux

package directory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// MaxFileSize is the maximum size of a staged file, in bytes.
const MaxFileSize = 64 << 20

// read opens a regular, trusted file. It checks the owner of the opened file, not of the
// name.
func (dir *Directory) read(name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is not a regular file; remove it.", path.Join(helperapi.AgentDirectory, name))
	}
	var f *os.File
	open := func() (err error) {
		f, err = dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		return err
	}
	if err = open(); errors.Is(err, fs.ErrPermission) && dir.jvm != nil { // a key, which only the JVM's user may read
		err = dir.jvm.As(open)
	}
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = dir.verify(name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// digest returns the SHA-256 of a trusted file, in lower-case hexadecimal; if it exceeds
// the maximum size, only that of its beginning.
func (dir *Directory) digest(name string) (sum string, size int64, err error) {
	f, err := dir.read(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, io.LimitReader(f, MaxFileSize+1))
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// Has reports whether a complete, trusted copy of the file exists. It does not read a
// file of another size, which may have terabytes.
func (dir *Directory) Has(file helperapi.File) bool {
	if info, err := dir.Lstat(file.Name); err != nil || info.Size() != file.Size {
		return false
	}
	sum, size, err := dir.digest(file.Name)
	return err == nil && sum == file.SHA256 && size == file.Size
}

// Verify checks that the files have the desired digests before a JVM reads them.
func (dir *Directory) Verify(d helperapi.Desired) error {
	agent := d.AgentSHA256
	if agent == "" { // an older operator leaves the digest empty
		agent, _ = helperapi.FileDigest(d.Agent) // the name was checked before
	}
	files := []struct{ name, sum string }{{d.Agent, agent}, {d.Implementation, d.ImplementationSHA256}, {d.Config, d.ConfigSHA256}}
	if d.Security != "" {
		files = append(files, struct{ name, sum string }{d.Security, d.SecuritySHA256})
	}
	for _, file := range files {
		sum, _, err := dir.digest(file.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !strings.HasPrefix(sum, file.sum) {
			return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s is missing or not what was staged.", path.Join(helperapi.AgentDirectory, file.name))
		}
	}
	return nil
}

// CheckFile refuses files that the operator never sends. A name contains the digest, so
// the content of a name never changes.
func CheckFile(file helperapi.File) error {
	digest, ok := helperapi.FileDigest(file.Name)
	switch {
	case !ok:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%q is not the name of a file of %s.", file.Name, helperapi.AgentDirectory)
	case !helperapi.IsSHA256(file.SHA256):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "The SHA-256 of %s is not one.", file.Name)
	case !strings.HasPrefix(file.SHA256, digest):
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%s is not named after its SHA-256 %s.", file.Name, file.SHA256)
	case file.Size < 0 || file.Size > MaxFileSize:
		return helperapi.Errorf(helperapi.ReasonBadRequest, "%s has %d bytes; at most %d are staged.", file.Name, file.Size, MaxFileSize)
	}
	return nil
}

// Stage writes one file, or skips its content if it exists already. It fails with
// ReasonStagingIncomplete unless content has the size and SHA-256 of the file.
func (dir *Directory) Stage(file helperapi.File, content io.Reader) error {
	verify := func(size int64, sum string) error {
		if size == file.Size && sum == file.SHA256 {
			return nil
		}
		return helperapi.Errorf(helperapi.ReasonStagingIncomplete, "%s did not arrive as the %d bytes announced.", file.Name, file.Size)
	}
	if dir.Has(file) {
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
	case IsSecurity(file.Name):
		mode = 0o600
	}
	return dir.write(file.Name, mode, content, verify)
}

// write creates or replaces a file atomically. verify is called with size and digest of
// the content before the file gets its name. The file is not synced: /tmp does not
// outlive the container.
func (dir *Directory) write(name string, mode fs.FileMode, content io.Reader, verify func(size int64, sum string) error) error {
	temporary := temporaryName(name)
	f, err := dir.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, hash), content)
	if err == nil {
		err = verify(size, hex.EncodeToString(hash.Sum(nil)))
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && IsSecurity(name) {
		err = dir.chown(f)
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = dir.replace(temporary, name)
	}
	if err != nil {
		_ = dir.Remove(temporary) // the original error is returned
	}
	return err
}

// replace renames a temporary file to its final name.
func (dir *Directory) replace(temporary, name string) error {
	err := dir.Rename(temporary, name)
	if info, failed := dir.Lstat(name); err != nil && failed == nil && info.IsDir() {
		return helperapi.Errorf(helperapi.ReasonAgentDirectoryNotTrusted, "%s is a directory; remove it.", path.Join(helperapi.AgentDirectory, name))
	}
	return err
}

// temporaryName ends with the process of this helper, so that no other helper uses it.
func temporaryName(name string) string {
	start, _ := jvm.StartTime(os.Getpid()) // /proc is readable, because the JVM was found in it
	return fmt.Sprintf(".%s.%d-%d.tmp", name, os.Getpid(), start)
}
