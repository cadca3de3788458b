package jvm

import (
	"strconv"
	"strings"
)

// parseRelease returns vendor and version from a runtime's release file: lines of
// KEY="value" (JEP 223 names JAVA_VERSION and IMPLEMENTOR).
func parseRelease(text string) (vendor, version string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"`)
		switch key {
		case "IMPLEMENTOR":
			vendor = value
		case "JAVA_VERSION":
			version = value
		}
	}
	return vendor, version
}

// Major returns the feature release of a Java version: 8 for 1.8.0_342, 25 for 25.0.3, 0
// if there is none.
func Major(version string) int {
	major, _ := releaseNumbers(version)
	return major
}

// releaseNumbers returns the feature release and the update of a Java version:
// 8 and 342 for 1.8.0_342, 11 and 13 for 11.0.13.
func releaseNumbers(version string) (major, update int) {
	numbers := strings.FieldsFunc(strings.TrimPrefix(version, "1."), func(r rune) bool { return r < '0' || r > '9' })
	number := func(i int) int {
		if i >= len(numbers) {
			return 0
		}
		n, _ := strconv.Atoi(numbers[i])
		return n
	}
	return number(0), number(2)
}
