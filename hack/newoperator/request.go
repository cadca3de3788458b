package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"k8s.io/apimachinery/pkg/util/validation"
)

// engine is the module that has the engine.
const engine = "banzaicloud.com/jmx-exporter-operator"

// request is what is to be written, and where.
type request struct {
	// repository is the checkout that the skeleton is read from, from the folder that
	// relative paths are relative to.
	repository, from string
	// name is the kind, plural that of the resource; group is the API group, module the path
	// of the Go module, dir its folder.
	name, plural, group, module, dir string
	// version is the required version of the engine. If engine is set, it is the checkout that
	// replaces the engine, and version is empty.
	version, engine string
}

// check returns what is wrong with the request, or completes it: paths are absolute then.
func (r *request) check(ctx context.Context) error {
	if err := checkName(r.name); err != nil {
		return err
	}
	if r.plural == "" {
		r.plural = flect.Pluralize(strings.ToLower(r.name)) // as controller-gen does without a marker
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9]{0,62}$`).MatchString(r.plural) {
		return fmt.Errorf("PLURAL is %q; it has lower-case letters and digits only, such as lighthouses", r.plural)
	}
	for _, check := range []func() error{
		func() error { return checkGroup(r.group) },
		func() error { return checkModule(r.module) },
		r.checkEngine,
		func() error { return r.checkVersion(ctx) },
		r.checkDir,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// taken are names that the API's package has already, or that metav1.AddToGroupVersion registers
// in each group.
var taken = []string{
	"AddToScheme", "Attempt", "GroupVersion", "SchemeBuilder", "SchemeGroupVersion",
	"WatchEvent", "ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions",
}

func checkName(name string) error {
	switch {
	case !regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`).MatchString(name):
		return fmt.Errorf("NAME is %q; a kind begins with a capital letter and has letters and digits only, such as Lighthouse", name)
	case len(name) > 40:
		return fmt.Errorf("NAME has %d characters; 40 is the limit, because names of namespaces and labels are made of it", len(name))
	case slices.Contains(taken, name) || token.IsKeyword(strings.ToLower(name)):
		return fmt.Errorf("NAME is %q, which the generated code has another meaning for; choose another one", name)
	case strings.HasSuffix(name, "List"):
		return fmt.Errorf("NAME is %q; the API has kinds that end with List for the lists of others; choose another one", name)
	case strings.Contains(strings.ToLower(name), "skeleton"):
		return fmt.Errorf("NAME is %q; skeleton is what it is written from; choose another one", name)
	}
	return nil
}

func checkGroup(group string) error {
	if problems := validation.IsDNS1123Subdomain(group); len(problems) > 0 || !strings.Contains(group, ".") {
		return fmt.Errorf("GROUP is %q; an API group is a domain in lower case, such as example.org or harbors.example.org", group)
	}
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if group == reserved || strings.HasSuffix(group, "."+reserved) {
			return fmt.Errorf("GROUP is %q; the API server protects groups of %s; choose a domain of yours", group, reserved)
		}
	}
	return nil
}

func checkModule(path string) error {
	switch err := module.CheckPath(path); {
	case err != nil:
		return fmt.Errorf("MODULE is %q; a module's path begins with a host, such as github.com/me/lighthouse: %w", path, err)
	case path == engine || strings.HasPrefix(path, engine+"/"):
		return fmt.Errorf("MODULE is %q, which is in the module of the engine; choose a path of yours", path)
	}
	return nil
}

// checkEngine checks that the engine is a checkout, if one is named.
func (r *request) checkEngine() error {
	if r.engine == "" {
		return nil
	}
	if r.version != "" {
		return errors.New("VERSION and ENGINE exclude each other: the engine is a published version, or a checkout")
	}
	r.engine = r.absolute(r.engine)
	data, err := os.ReadFile(filepath.Join(r.engine, "go.mod"))
	if err != nil || modfile.ModulePath(data) != engine {
		return fmt.Errorf("ENGINE is %s, where there is no checkout of %s: clone it, and name its folder", r.engine, engine)
	}
	return nil
}

// checkVersion completes the version by that of the checkout.
func (r *request) checkVersion(ctx context.Context) error {
	if r.engine != "" {
		return nil
	}
	if r.version == "" {
		tag, err := exec.CommandContext(ctx, "git", "-C", r.repository, "describe", "--tags", "--exact-match", "--match", "v*").Output()
		if err != nil {
			return errors.New("this checkout is of no release, so it does not say which version of the engine is to be required. Add VERSION=v0.1.0, a published one, or ENGINE=. to build with this checkout")
		}
		r.version = strings.TrimSpace(string(tag))
	}
	if semver.Canonical(r.version) != r.version {
		return fmt.Errorf("VERSION is %q; a version is complete and begins with v, such as v0.1.0", r.version)
	}
	return nil
}

// checkDir checks that nothing in the folder is overwritten, and that it belongs to no other module.
func (r *request) checkDir() error {
	if r.dir == "" {
		return errors.New("DIR is missing: the folder of the operator, such as $HOME/lighthouse")
	}
	if strings.HasPrefix(r.dir, "~") {
		return fmt.Errorf("DIR is %q, and the shell has not replaced ~: write $HOME", r.dir)
	}
	r.dir = r.absolute(r.dir)
	entries, err := os.ReadDir(r.dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("DIR cannot be used: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("DIR is %s, which is not empty; choose a new folder", r.dir)
	}
	// Of what does not exist, the folder that it would be in counts. Links are followed.
	at := r.dir
	for {
		if resolved, err := filepath.EvalSymlinks(at); err == nil {
			at = resolved
			break
		}
		at = filepath.Dir(at)
	}
	repository, err := filepath.EvalSymlinks(r.repository)
	if err != nil {
		return err
	}
	if at == repository || strings.HasPrefix(at, repository+string(filepath.Separator)) {
		return fmt.Errorf("DIR is %s, which is inside this repository; choose a folder outside of %s", r.dir, r.repository)
	}
	return nil
}

// absolute returns a path that does not depend on the folder from which this program runs.
func (r *request) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(r.from, path)
}
