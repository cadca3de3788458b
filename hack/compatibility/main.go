// Command compatibility writes the tables of docs/compatibility.md, of Kubernetes versions,
// Java versions and pod kinds, from the results that the suites of hack/test saved in
// bin/test: the events of Go's tests, and the agent's log. Cells of tests that did not run
// are kept. Run it after make test-all. With -rows, as by make generate, it reads no results,
// because a new build in Debian's archive must not make make verify fail.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	page    = "docs/compatibility.md"
	results = "bin/test"
	end     = "\n<!-- End of what is written. -->\n"
)

// begin returns the line before a table of the page.
func begin(what string) string {
	return "<!-- " + what + ": written by hack/compatibility (go run ./hack/compatibility). Do not edit. -->\n\n"
}

func main() {
	rows := flag.Bool("rows", false, "only what is tested, without new results")
	flag.Parse()
	dir := results
	if *rows {
		dir = ""
	}
	if err := write(".", dir); err != nil {
		fmt.Fprintln(os.Stderr, "compatibility:", err)
		os.Exit(1)
	}
}

// write updates the tables of the repository in root by the results in dir, if any.
func write(root, dir string) error {
	servers, err := minors(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	updated := string(text)
	for what, update := range map[string]func(table, dir string) (string, error){
		kubernetes: servers.update,
		versions:   updateVersions,
		pods:       updateKinds,
	} {
		before, table, after, err := cut(updated, what)
		if err != nil {
			return err
		}
		if table, err = update(table, dir); err != nil {
			return err
		}
		updated = before + table + after
	}
	return os.WriteFile(path, []byte(updated), 0o644)
}

// cut splits the page around one of its tables.
func cut(text, what string) (before, table, after string, err error) {
	before, rest, ok := strings.Cut(text, begin(what))
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("%s has no place for the table of %s", page, what)
	}
	return before + begin(what), table, end + after, nil
}

// cells returns the cells of each line of a table, without its header.
func cells(table string) [][]string {
	var rows [][]string
	for i, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if i > 1 {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	return rows
}

// read parses a file of results in dir line by line. Without the file, or dir, it returns
// no results.
func read[T any](dir, name string, parse func(lines *bufio.Scanner) (T, error)) (T, error) {
	var none T
	if dir == "" {
		return none, nil
	}
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	found, err := parse(lines)
	if err := errors.Join(err, lines.Err()); err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}
