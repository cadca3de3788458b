package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// layerOf creates the layer of "source=/target[,source=/target...]".
func layerOf(spec string, compress bool) (v1.Layer, error) {
	level := gzip.NoCompression
	if compress {
		level = gzip.BestCompression
	}
	var content bytes.Buffer
	l := layer{tar: tar.NewWriter(&content), has: map[string]bool{}}
	for part := range strings.SplitSeq(spec, ",") {
		source, target, ok := strings.Cut(part, "=")
		if !ok || !path.IsAbs(target) {
			return nil, fmt.Errorf("layer %q: want source=/target", part)
		}
		if err := l.add(source, path.Clean(target)); err != nil {
			return nil, err
		}
	}
	if err := l.tar.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithCompressionLevel(level))
}

// layer is a tar file being written. It contains no owner or times, so that only content
// changes its digest.
type layer struct {
	tar *tar.Writer
	has map[string]bool
}

// add adds a file, or the contents of a folder, at target.
func (l *layer) add(source, target string) error {
	root, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	if err := l.folders(path.Dir(target)); err != nil {
		return err
	}
	// WalkDir walks in lexical order, which makes the output reproducible.
	return filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		return l.entry(root, file, path.Join(target, filepath.ToSlash(within)))
	})
}

// entry writes one file, folder or link.
func (l *layer) entry(root, file, target string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(file)
		if err != nil {
			return err
		}
		// A link within the folder is kept. One that leads outside (such as to a
		// distribution's configuration) would dangle in the image: it is replaced by its
		// target.
		if !leadsOut(root, file, link) {
			return l.header(&tar.Header{Typeflag: tar.TypeSymlink, Name: target, Linkname: link, Mode: 0o777})
		}
		if _, err := os.Stat(file); err != nil {
			return nil // it is already dangling here
		}
		return l.add(file, target)
	}
	if info.IsDir() {
		return l.folder(target, info.Mode())
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	if err := l.header(&tar.Header{Typeflag: tar.TypeReg, Name: target, Size: info.Size(), Mode: mode(info.Mode())}); err != nil {
		return err
	}
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(l.tar, content)
	return err
}

func leadsOut(root, file, link string) bool {
	if filepath.IsAbs(link) {
		// In the image of a whole root file system, an absolute link is relative to that
		// root.
		_, err := os.Lstat(filepath.Join(root, link))
		return err != nil
	}
	within, err := filepath.Rel(root, filepath.Join(filepath.Dir(file), link))
	return err != nil || within == ".." || strings.HasPrefix(within, "../")
}

// folders writes the parent folders of a target that are not in the layer yet.
func (l *layer) folders(target string) error {
	if target == "/" || target == "." {
		return nil
	}
	if err := l.folders(path.Dir(target)); err != nil {
		return err
	}
	return l.folder(target, fs.ModeDir|0o755)
}

func (l *layer) folder(target string, m fs.FileMode) error {
	if target == "/" {
		return nil
	}
	return l.header(&tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: mode(m)})
}

// header writes a header. It skips a folder that was already written.
func (l *layer) header(h *tar.Header) error {
	name := strings.TrimSuffix(h.Name, "/")
	if l.has[name] {
		if h.Typeflag == tar.TypeDir {
			return nil
		}
		return fmt.Errorf("%s is there twice", name)
	}
	l.has[name] = true
	h.Name = strings.TrimPrefix(h.Name, "/")
	h.ModTime = time.Unix(0, 0)
	h.Format = tar.FormatPAX
	return l.tar.WriteHeader(h)
}

// mode returns the permissions and the sticky bit, which /tmp needs.
func mode(m fs.FileMode) int64 {
	bits := int64(m.Perm())
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	return bits
}
