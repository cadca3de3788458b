package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// writeModules writes go.mod, go.sum, and those of the tools.
func writeModules(ctx context.Context, r request) error {
	if err := tools(r); err != nil {
		return err
	}
	file, sum, err := modules(r, "examples/skeleton")
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(r.module); err != nil {
		return err
	}
	if err := file.DropReplace(engine, ""); err != nil {
		return err
	}
	if r.engine != "" {
		err = file.AddReplace(engine, "", r.engine, "")
	} else {
		err = file.AddRequire(engine, r.version)
	}
	if err != nil {
		return err
	}
	if err := store(file, sum, r.dir); err != nil || r.engine != "" {
		return err // with the engine of a checkout, go.sum is complete
	}
	if err := command(ctx, r.dir, "go", "mod", "tidy"); err != nil {
		return fmt.Errorf("go mod tidy failed in %s; its output is above. If it does not find version %s of the engine, that is not published: ENGINE=. builds with this checkout. %w", r.dir, r.version, err)
	}
	return nil
}

// tools writes the module of the tools, those of this repository without what only this one uses.
func tools(r request) error {
	file, sum, err := modules(r, "hack/tools")
	if err != nil {
		return err
	}
	if err := file.AddModuleStmt(r.module + "/tools"); err != nil {
		return err
	}
	if err := file.DropTool("gotest.tools/gotestsum"); err != nil {
		return err
	}
	return store(file, sum, filepath.Join(r.dir, "tools"))
}

// modules returns go.mod and go.sum of a folder of this repository.
func modules(r request, folder string) (*modfile.File, []byte, error) {
	name := filepath.Join(r.repository, folder, "go.mod")
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, nil, err
	}
	sum, err := os.ReadFile(filepath.Join(r.repository, folder, "go.sum"))
	return file, sum, err
}

// store writes go.mod and go.sum into a folder.
func store(file *modfile.File, sum []byte, folder string) error {
	file.Cleanup()
	data, err := file.Format()
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(folder, "go.mod"), string(data)); err != nil {
		return err
	}
	return writeFile(filepath.Join(folder, "go.sum"), string(sum))
}
