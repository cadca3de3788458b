package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	versions = "versions of Java"
	header   = "| Java | build | helper | agent | on the cluster | arm64 |\n| --- | --- | --- | --- | --- | --- |\n"
)

// row contains the table's cells for one version of Java.
type row struct{ build, helper, agent, cluster, arm64 string }

// updateVersions replaces the cells of the suites that ran.
func updateVersions(table, dir string) (string, error) {
	rows := parseTable(table)
	unit, err := read(dir, "unit.json", events)
	if err != nil {
		return "", err
	}
	e2e, err := read(dir, "e2e.json", events)
	if err != nil {
		return "", err
	}
	arm64, err := read(dir, "arm64.json", events)
	if err != nil {
		return "", err
	}
	agent, err := read(dir, "agent.log", agentLog)
	if err != nil {
		return "", err
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
	for major, result := range arm64 {
		r := rows[major]
		if r.arm64 = fmt.Sprintf("%s, pages of %s KiB", result.build, strings.Join(result.pages, " and ")); result.failed > 0 {
			r.arm64 = "**failed**"
		}
		rows[major] = r
	}
	return render(rows), nil
}

// result is the result of a suite's tests on one version of Java.
type result struct {
	build          string
	passed, failed int
	// pages are the sizes of a kernel's pages in KiB with which tests passed, on arm64.
	pages []string
}

func (r result) String() string {
	if r.failed > 0 {
		return fmt.Sprintf("**%d failed**, %d passed", r.failed, r.passed)
	}
	return fmt.Sprintf("%d passed", r.passed)
}

// ofOneJava matches the name of a test of one version of Java: see jvmtest.EachOf.
var ofOneJava = regexp.MustCompile(`^[^/]+/jdk(\d+)$`)

// onArm64 matches the package in the events of hack/arm64/run.
var onArm64 = regexp.MustCompile(`^arm64-(\d+)k/`)

// events parses the events of go test -json.
func events(lines *bufio.Scanner) (map[int]result, error) {
	found := map[int]result{}
	for lines.Scan() {
		var event struct{ Action, Package, Test, Key, Value string }
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
			if on := onArm64.FindStringSubmatch(event.Package); on != nil {
				r.pages = append(r.pages, on[1])
			}
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

// agentLog parses the output of agent/test: a headline for each version of Java, and
// Maven's totals, which do not include the duration.
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

// parseTable parses a table written by render.
func parseTable(table string) map[int]row {
	rows := map[int]row{}
	for _, cells := range cells(table) {
		if major, err := strconv.Atoi(cells[0]); err == nil && len(cells) == 6 {
			rows[major] = row{cells[1], cells[2], cells[3], cells[4], cells[5]}
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
		for _, cell := range []*string{&r.build, &r.helper, &r.agent, &r.cluster, &r.arm64} {
			if *cell == "" {
				*cell = "-"
			}
		}
		fmt.Fprintf(&table, "| %d | %s | %s | %s | %s | %s |\n", major, r.build, r.helper, r.agent, r.cluster, r.arm64)
	}
	return table.String()
}
