package newoperator

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// version is one of the engine that only the proxy of TestVersion has.
const version = "v0.1.0"

// The operator requires a published version of the engine, with nothing of this checkout.
func TestVersion(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := exec.CommandContext(t.Context(), "go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	publish(t, filepath.Join(temp, "proxy"))
	o := &operator{dir: filepath.Join(temp, "operator"), env: []string{
		// A module cache of its own, or this version would be in that of the user.
		"GOMODCACHE=" + filepath.Join(temp, "modules"), "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB=" + engine,
		"GOPROXY=file://" + filepath.Join(temp, "proxy") + ",file://" + strings.TrimSpace(string(cache)) + "/cache/download," + strings.TrimSpace(string(proxy)),
	}}
	o.generate(t, "VERSION="+version)
	text := o.read(t, "go.mod")
	if !strings.Contains(text, engine+" "+version+"\n") || strings.Contains(text, "replace") {
		t.Errorf("go.mod:\n%s", text)
	}
	o.run(t, "make", "context")
	o.run(t, "go", "build", "./...")
	o.run(t, "go", "test", "./config")
}

// publish writes a module proxy that has the engine's packages as a version.
func publish(t *testing.T, proxy string) {
	t.Helper()
	root := filepath.Join("..", "..")
	folder := filepath.Join(proxy, engine, "@v")
	err := os.MkdirAll(folder, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		version + ".info": `{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`, version + ".mod": string(mod), "list": version + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	add := func(name string) error {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		w, err := archive.Create(engine + "@" + version + "/" + filepath.ToSlash(name))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	err = add("go.mod")
	for _, name := range []string{"pkg/statemachine", "pkg/apply", "pkg/effects", "pkg/operator"} {
		if err != nil {
			break
		}
		err = fs.WalkDir(os.DirFS(root), name, func(name string, entry fs.DirEntry, err error) error {
			if entry != nil && entry.Name() == "records" { // of this operator
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			return add(name)
		})
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
