// Package bundle gathers what a bug report needs, without secrets: kubectl jmx report.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// File is a file of the archive.
type File struct {
	Name string `json:"name"`
	// What it is, for the list of contents.
	What    string `json:"what"`
	Content []byte `json:"-"`
}

// Bundle is what was gathered.
type Bundle struct {
	Files []File `json:"files"`
	// Omitted says what could not be read, and why.
	Omitted []string `json:"omitted,omitempty"`
}

func (b *Bundle) add(name, what string, content []byte) {
	b.Files = append(b.Files, File{Name: name, What: what, Content: content})
}

func (b *Bundle) omit(what string, err error) {
	b.Omitted = append(b.Omitted, what+": "+err.Error())
}

// rewrite rewrites all names and contents: those of YAML by the second function.
func (b *Bundle) rewrite(text, yaml func(string) string) {
	for i := range b.Files {
		f, content := &b.Files[i], text
		if strings.HasSuffix(f.Name, ".yaml") {
			content = yaml
		}
		f.Name, f.Content = text(f.Name), []byte(content(string(f.Content)))
	}
	for i := range b.Omitted {
		b.Omitted[i] = text(b.Omitted[i])
	}
}

// key matches a key at the beginning of a line of YAML.
const key = `(?m:^[ -]*[A-Za-z0-9_./-]+:(?: |$))`

// replace replaces what the pattern matches, except keys of YAML.
func (b *Bundle) replace(pattern string, with func(string) string) {
	text, yaml := regexp.MustCompile(pattern), regexp.MustCompile(key+"|"+pattern)
	b.rewrite(func(s string) string { return text.ReplaceAllStringFunc(s, with) }, func(s string) string {
		return yaml.ReplaceAllStringFunc(s, with) // which knows no key with its colon
	})
}

// Contents lists what is in the archive and what is not.
func (b *Bundle) Contents() string {
	var s strings.Builder
	s.WriteString("In this archive:\n")
	for _, f := range b.Files {
		fmt.Fprintf(&s, "  %s: %s (%d bytes)\n", f.Name, f.What, len(f.Content))
	}
	s.WriteString("Not in it: Secrets, the content of ConfigMaps, values of environment variables, metrics, logs of applications.\n")
	for _, o := range b.Omitted {
		s.WriteString("Could not be read: " + o + "\n")
	}
	return s.String()
}

// Write writes the archive, tar.gz, with a folder of that name in it.
func (b *Bundle) Write(w io.Writer, folder string, now time.Time) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	contents := File{Name: "CONTENTS.txt", Content: []byte(b.Contents())}
	for _, f := range append([]File{contents}, b.Files...) {
		header := &tar.Header{Name: folder + "/" + f.Name, Mode: 0o644, Size: int64(len(f.Content)), ModTime: now, Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.Content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}
