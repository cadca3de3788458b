package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository is this checkout.
var repository = func() string {
	path, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return path
}()

// Whatever is wrong is refused in a sentence that names the argument, before anything is written.
func TestRefused(t *testing.T) {
	temp := t.TempDir()
	full := filepath.Join(temp, "full")
	if err := os.MkdirAll(filepath.Join(full, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, "link")
	if err := os.Symlink(repository, link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		change func(*request)
		want   string
	}{
		"no name":                {func(r *request) { r.name = "" }, `NAME is ""`},
		"lower case":             {func(r *request) { r.name = "policy" }, "capital letter"},
		"dash":                   {func(r *request) { r.name = "My-Policy" }, "letters and digits only"},
		"long name":              {func(r *request) { r.name = strings.Repeat("A", 41) }, "40 is the limit"},
		"type of the API":        {func(r *request) { r.name = "Attempt" }, "another meaning"},
		"keyword":                {func(r *request) { r.name = "Type" }, "another meaning"},
		"kind of each group":     {func(r *request) { r.name = "ListOptions" }, "another meaning"},
		"list":                   {func(r *request) { r.name = "BlackList" }, "end with List"},
		"skeleton":               {func(r *request) { r.name = "Skeleton" }, "skeleton"},
		"plural":                 {func(r *request) { r.plural = "Policies" }, "lower-case"},
		"no group":               {func(r *request) { r.group = "" }, `GROUP is ""`},
		"group without a dot":    {func(r *request) { r.group = "acme" }, "a domain"},
		"group in capitals":      {func(r *request) { r.group = "Acme.io" }, "lower case"},
		"group with a version":   {func(r *request) { r.group = "acme.io/v1" }, "a domain"},
		"protected group":        {func(r *request) { r.group = "acme.k8s.io" }, "protects groups of k8s.io"},
		"no module":              {func(r *request) { r.module = "" }, `MODULE is ""`},
		"module without a host":  {func(r *request) { r.module = "policy" }, "begins with a host"},
		"module as a URL":        {func(r *request) { r.module = "https://github.com/acme/policy" }, "begins with a host"},
		"module of the engine":   {func(r *request) { r.module = engine + "/policy" }, "in the module of the engine"},
		"no version":             {func(r *request) { r.engine, r.repository = "", temp }, "ENGINE=."},
		"incomplete version":     {func(r *request) { r.engine, r.version = "", "v1" }, "such as v0.1.0"},
		"version and engine":     {func(r *request) { r.version = "v0.1.0" }, "exclude each other"},
		"engine elsewhere":       {func(r *request) { r.engine = temp }, "no checkout"},
		"no folder":              {func(r *request) { r.dir = "" }, "DIR is missing"},
		"full folder":            {func(r *request) { r.dir = full }, "not empty"},
		"a file":                 {func(r *request) { r.dir = file }, "cannot be used"},
		"tilde":                  {func(r *request) { r.dir = "~/policy" }, "$HOME"},
		"inside":                 {func(r *request) { r.dir = filepath.Join(repository, "examples", "policy") }, "inside this repository"},
		"inside, relative":       {func(r *request) { r.dir, r.from = "policy", repository }, "inside this repository"},
		"inside, through a link": {func(r *request) { r.dir = filepath.Join(link, "a", "b") }, "inside this repository"},
		"the repository":         {func(r *request) { r.dir = repository }, "not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request{
				repository: repository, from: temp, name: "Policy", group: "acme.io", module: "acme.io/policy",
				dir: "new", engine: repository,
			}
			row.change(&r)
			if err := r.check(t.Context()); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	temp := t.TempDir()
	r := request{
		repository: repository, from: temp, name: "BackupPolicy", group: "backups.acme.io", module: "acme.io/policy",
		dir: "new/folder", version: "v0.1.0-rc.1",
	}
	if err := r.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.plural != "backuppolicies" || r.dir != filepath.Join(temp, "new", "folder") {
		t.Errorf("%+v", r)
	}
}

// What cannot be completed leaves nothing behind.
func TestNothingLeft(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	temp := t.TempDir()
	for _, dir := range []string{temp, filepath.Join(temp, "new")} {
		r := request{
			repository: repository, from: temp, name: "Policy", group: "acme.io", module: "acme.io/policy",
			dir: dir, version: "v0.0.0-20000101000000-000000000000",
		}
		if err := r.check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := write(t.Context(), r); err == nil || !strings.Contains(err.Error(), "ENGINE=.") {
			t.Errorf("a version that does not exist: %v", err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v %v", dir, left, err)
		}
	}
}
