// Package layers checks the shape of packages: the files of a package are layers, each of
// which uses only those below it, and files and functions are short. Its tests check the
// packages of the product. Generated files are exempt.
package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// MaxFile is the maximum length of a file, in lines.
	MaxFile = 300
	// MaxFunction is the maximum length of a function, in lines.
	MaxFunction = 60
)

// Package is a package with its types. It is not safe for concurrent use.
type Package struct {
	// Path is the import path.
	Path  string
	fset  *token.FileSet
	files []*ast.File
	types *types.Package
	info  *types.Info
}

// Load type-checks packages of the module in root, without their tests, for the operating
// system and architecture of go list. It imports all others from the build cache.
func Load(root string, patterns ...string) ([]*Package, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // as everything else is compiled here
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		DepOnly                 bool
	}
	exports := map[string]string{}
	var found []listed
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			found = append(found, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*Package
	for _, p := range found {
		sources := map[string]any{}
		for _, name := range p.GoFiles {
			sources[filepath.Join(p.Dir, name)] = nil
		}
		checked, err := check(p.ImportPath, fset, imports, sources)
		if err != nil {
			return nil, err
		}
		packages = append(packages, checked)
	}
	return packages, nil
}

// check type-checks a package. sources are as in parser.ParseFile, by file.
func check(path string, fset *token.FileSet, imports types.Importer, sources map[string]any) (*Package, error) {
	p := &Package{Path: path, fset: fset, info: &types.Info{Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		file, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	config := types.Config{Importer: imports}
	var err error
	p.types, err = config.Check(path, fset, p.files, p.info)
	return p, err
}

// uses returns the identifiers that each file uses of each other one: types, functions,
// variables, constants, methods and fields.
func (p *Package) uses() map[string]map[string][]string {
	uses := map[string]map[string][]string{}
	generated := map[string]bool{}
	for _, file := range p.files {
		generated[p.fset.File(file.FileStart).Name()] = ast.IsGenerated(file)
	}
	for id, object := range p.info.Uses {
		if object.Pkg() != p.types || !object.Pos().IsValid() {
			continue
		}
		from, to := p.fset.File(id.Pos()).Name(), p.fset.File(object.Pos()).Name()
		if from == to || generated[from] || generated[to] {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string][]string{}
		}
		if !slices.Contains(uses[from][to], object.Name()) {
			uses[from][to] = append(uses[from][to], object.Name())
		}
	}
	return uses
}

// Cycle describes the shortest cycle of files that use each other, with the identifiers;
// empty if there is none.
func (p *Package) Cycle() string {
	uses := p.uses()
	var shortest []string
	for _, start := range slices.Sorted(maps.Keys(uses)) {
		if cycle := cycleOf(uses, start); cycle != nil && (shortest == nil || len(cycle) < len(shortest)) {
			shortest = cycle
		}
	}
	if shortest == nil {
		return ""
	}
	var text strings.Builder
	for i, from := range shortest {
		to := shortest[(i+1)%len(shortest)]
		fmt.Fprintf(&text, "\n\t%s uses %s: %s", filepath.Base(from), filepath.Base(to), strings.Join(slices.Sorted(slices.Values(uses[from][to])), ", "))
	}
	return text.String()
}

// cycleOf returns the files of a shortest cycle through start, from start on; nil if there
// is none.
func cycleOf(uses map[string]map[string][]string, start string) []string {
	user := map[string]string{}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range slices.Sorted(maps.Keys(uses[queue[0]])) {
			if next == start {
				cycle := []string{queue[0]}
				for cycle[0] != start {
					cycle = slices.Insert(cycle, 0, user[cycle[0]])
				}
				return cycle
			}
			if _, seen := user[next]; !seen {
				user[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// TooLong describes the files and functions that are too long.
func (p *Package) TooLong() (found []string) {
	for _, file := range p.files {
		if ast.IsGenerated(file) {
			continue
		}
		in := p.fset.File(file.FileStart)
		if n := in.LineCount(); n > MaxFile {
			found = append(found, fmt.Sprintf("%s has %d lines, more than %d", in.Name(), n, MaxFile))
		}
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := in.Line(f.End()) - in.Line(f.Pos()) + 1; n > MaxFunction {
				found = append(found, fmt.Sprintf("%s:%d: function %s has %d lines, more than %d", in.Name(), in.Line(f.Pos()), f.Name.Name, n, MaxFunction))
			}
		}
	}
	return found
}
