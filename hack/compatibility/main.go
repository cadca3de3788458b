// Command compatibility writes the table of Java versions in docs/compatibility.md
// from what the suites of hack/test left in bin/test: the events of the unit and
// e2e tests, and the agent's log. A suite that was not run leaves its column as
// it is. make compatibility runs it after make test; a build that changes with
// Debian's archive is no reason for make verify to fail, so make generate does not.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	page    = "docs/compatibility.md"
	results = "bin/test"
	begin   = "<!-- Written by hack/compatibility (make compatibility). Do not edit. -->\n\n"
	end     = "\n<!-- End of what is written. -->\n"
	header  = "| Java | build | helper | agent | on the cluster |\n| --- | --- | --- | --- | --- |\n"
)

// row is what is known of one version of Java, as the table's cells.
type row struct{ build, helper, agent, cluster string }

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "compatibility:", err)
		os.Exit(1)
	}
}

// write brings the table of the repository in root up to date.
func write(root string) error {
	path := filepath.Join(root, page)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table", page)
	}
	rows := parseTable(table)
	if err := update(rows, filepath.Join(root, results)); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+begin+render(rows)+end+after), 0o644)
}

// update takes over what the suites left.
func update(rows map[int]row, dir string) error {
	unit, err := read(filepath.Join(dir, "unit.json"), events)
	if err != nil {
		return err
	}
	e2e, err := read(filepath.Join(dir, "e2e.json"), events)
	if err != nil {
		return err
	}
	agent, err := read(filepath.Join(dir, "agent.log"), agentLog)
	if err != nil {
		return err
	}
	for major, result := range unit {
		r := rows[major]
		r.build, r.helper = result.build, result.String()
		rows[major] = r
	}
	for major, result := range agent {
		r := rows[major]
		r.agent = result.String()
		rows[major] = r
	}
	for major, result := range e2e {
		r := rows[major]
		if r.cluster = "attach, scrape, reload, move, unload"; result.failed > 0 {
			r.cluster = "**failed**"
		}
		rows[major] = r
	}
	return nil
}

// result is what the tests of a suite came to on one version of Java.
type result struct {
	build          string
	passed, failed int
}

func (r result) String() string {
	if r.failed > 0 {
		return fmt.Sprintf("**%d failed**, %d passed", r.failed, r.passed)
	}
	return fmt.Sprintf("%d passed", r.passed)
}

// read parses a file of results line by line; without the file, there are none.
func read(path string, parse func(lines *bufio.Scanner) (map[int]result, error)) (map[int]result, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	found, err := parse(lines)
	if err := errors.Join(err, lines.Err()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// ofOneJava is the name of a test of one version of Java: see jvmtest.EachOf.
var ofOneJava = regexp.MustCompile(`^[^/]+/jdk(\d+)$`)

// events parses those of go test -json.
func events(lines *bufio.Scanner) (map[int]result, error) {
	found := map[int]result{}
	for lines.Scan() {
		var event struct{ Action, Test, Key, Value string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		name := ofOneJava.FindStringSubmatch(event.Test)
		if name == nil {
			continue
		}
		major, err := strconv.Atoi(name[1])
		if err != nil {
			return nil, err
		}
		r := found[major]
		switch {
		case event.Action == "pass":
			r.passed++
		case event.Action == "fail":
			r.failed++
		case event.Action == "attr" && event.Key == "java":
			r.build = event.Value
		}
		found[major] = r
	}
	return found, nil
}

var (
	agentOn = regexp.MustCompile(`^== the agent on Java (\d+)`)
	totals  = regexp.MustCompile(`Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$`)
)

// agentLog parses what agent/test prints: a headline for each version of Java, and
// Maven's totals, which alone do not say how long they took.
func agentLog(lines *bufio.Scanner) (map[int]result, error) {
	found, major := map[int]result{}, 0
	var err error
	for lines.Scan() {
		if on := agentOn.FindStringSubmatch(lines.Text()); on != nil {
			if major, err = strconv.Atoi(on[1]); err != nil {
				return nil, err
			}
		}
		if m := totals.FindStringSubmatch(lines.Text()); m != nil {
			var n [4]int
			for i := range n {
				if n[i], err = strconv.Atoi(m[i+1]); err != nil {
					return nil, err
				}
			}
			found[major] = result{passed: n[0] - n[1] - n[2] - n[3], failed: n[1] + n[2]}
		}
	}
	return found, nil
}

// parseTable reads the table that render wrote.
func parseTable(table string) map[int]row {
	rows := map[int]row{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if major, err := strconv.Atoi(cells[0]); err == nil && len(cells) == 5 {
			rows[major] = row{cells[1], cells[2], cells[3], cells[4]}
		}
	}
	return rows
}

func render(rows map[int]row) string {
	var majors []int
	for major := range rows {
		majors = append(majors, major)
	}
	slices.Sort(majors)
	var table strings.Builder
	table.WriteString(header)
	for _, major := range majors {
		r := rows[major]
		for _, cell := range []*string{&r.build, &r.helper, &r.agent, &r.cluster} {
			if *cell == "" {
				*cell = "-"
			}
		}
		fmt.Fprintf(&table, "| %d | %s | %s | %s | %s |\n", major, r.build, r.helper, r.agent, r.cluster)
	}
	return table.String()
}
