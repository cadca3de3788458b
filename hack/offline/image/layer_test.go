package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// entries returns the entries of a layer by name.
func entries(t *testing.T, spec string) map[string]*tar.Header {
	t.Helper()
	l, err := layerOf(spec, false)
	if err != nil {
		t.Fatal(err)
	}
	content, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	found := map[string]*tar.Header{}
	for r := tar.NewReader(content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = h
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLayer(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	write(t, filepath.Join(dir, "outside"), "outside")
	write(t, filepath.Join(root, "etc", "file"), "file")
	for link, target := range map[string]string{"in": "etc/file", "out": "../outside", "absolute": filepath.Join(dir, "outside"), "own-root": "/etc/file", "nowhere": "../none"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}

	got := entries(t, root+"=/opt/app,"+filepath.Join(dir, "outside")+"=/bin/one")
	for name, want := range map[string]struct {
		kind byte
		mode int64
		link string
	}{
		"opt/":             {tar.TypeDir, 0o755, ""},
		"opt/app/etc/file": {tar.TypeReg, 0o644, ""},
		"opt/app/tmp/":     {tar.TypeDir, 0o1777, ""},
		"opt/app/in":       {tar.TypeSymlink, 0o777, "etc/file"},
		"opt/app/own-root": {tar.TypeSymlink, 0o777, "/etc/file"},
		"opt/app/out":      {tar.TypeReg, 0o644, ""}, // replaced by its target, which is not in the image
		"opt/app/absolute": {tar.TypeReg, 0o644, ""},
		"bin/one":          {tar.TypeReg, 0o644, ""},
	} {
		h := got[name]
		if h == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		if h.Typeflag != want.kind || h.Mode != want.mode || h.Linkname != want.link {
			t.Errorf("%s: type %c, mode %o, link %q; want %c, %o, %q", name, h.Typeflag, h.Mode, h.Linkname, want.kind, want.mode, want.link)
		}
		if h.Uid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s has owner %d and time %v, which would change its digest", name, h.Uid, h.ModTime)
		}
	}
	if got["opt/app/nowhere"] != nil {
		t.Error("a link to nothing went in")
	}
}

func TestSameInputSameDigest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	o := options{name: "a:b", user: "1:1", entrypoint: list{"/file"}, layers: list{file + "=/file"}}
	digest := func(content string) string {
		write(t, file, content)
		image, err := build(o)
		if err != nil {
			t.Fatal(err)
		}
		d, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	one, again, other := digest("one"), digest("one"), digest("other")
	if one != again || one == other {
		t.Errorf("digests %s, %s for the same content and %s for another", one, again, other)
	}
}

func TestFileTwiceIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if _, err := layerOf(file+"=/a,"+file+"=/a", false); err == nil {
		t.Error("the same target twice in a layer was taken")
	}
}
