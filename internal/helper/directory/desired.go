//go:build linux

package directory

import (
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
)

// WriteDesired writes a desired file.
func (dir *Directory) WriteDesired(name string, p url.Values) error {
	return dir.write(name, 0o644, strings.NewReader(p.Encode()), func(int64, string) error { return nil })
}

// ReadDesired reads a desired file. It returns nil if the file is missing, unreadable or
// not trusted.
func (dir *Directory) ReadDesired(name string) url.Values {
	const most = 16 << 10
	f, err := dir.read(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, failed := io.ReadAll(io.LimitReader(f, most))
	p, err := url.ParseQuery(strings.TrimSpace(string(data)))
	if failed != nil || err != nil {
		return nil
	}
	return p
}

// RemoveSecurity removes the security file that a desired file referred to, unless
// another one does: a key is removed without waiting for LeftoverAge.
func (dir *Directory) RemoveSecurity(previous url.Values) {
	name := path.Base(previous.Get("security"))
	if !IsSecurity(name) {
		return
	}
	if wanted, known := dir.referenced(); known && !slices.Contains(wanted, name) {
		_ = dir.Remove(name) // another helper may have removed it
	}
}

// desiredFiles returns the names of all desired files.
func (dir *Directory) desiredFiles() []string {
	return slices.DeleteFunc(dir.Names(), func(name string) bool { return path.Ext(name) != DesiredSuffix })
}

// referenced returns the shared files that desired files refer to. known is false if one
// of the desired files cannot be read.
func (dir *Directory) referenced() (files []string, known bool) {
	for _, name := range dir.desiredFiles() {
		desired := dir.ReadDesired(name)
		if desired == nil {
			return nil, false
		}
		files = append(files, path.Base(desired.Get("implementation")), path.Base(desired.Get("config")), path.Base(desired.Get("security")))
	}
	return files, true
}
