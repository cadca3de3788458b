// Package report is what the benchmarks have in common: medians, and a table that
// they keep in a page.
package report

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Median returns the middle one of some values, or what is between the middle two.
func Median[T ~int64 | ~float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Spread is the median of some values, with the smallest and the largest.
func Spread(format string, values []float64) string {
	if len(values) == 1 {
		return fmt.Sprintf(format, values[0])
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", Median(values), slices.Min(values), slices.Max(values))
}

// Verdict says whether a goal is met.
func Verdict(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

// Machine is the processor of this machine.
func Machine() string {
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(info); m != nil {
		model = string(m[1])
	}
	return fmt.Sprintf("%d cores of %s", runtime.NumCPU(), model)
}

// Write replaces what a page has between the markers of a make target.
func Write(page, target, text string) error {
	begin, end := "<!-- make "+target+" writes from here -->\n", "<!-- to here -->\n"
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s lacks the markers %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
