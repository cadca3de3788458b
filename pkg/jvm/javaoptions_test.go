//go:build linux

package jvm

import "testing"

func TestJavaOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		launcher string
		environ  []string
		major    int
		want     JavaOptions
	}{
		"none":                 {java, []string{"PATH=/bin"}, 17, JavaOptionsAbsent},
		"one":                  {java, []string{"PATH=/bin", "JDK_JAVA_OPTIONS=-Xmx1g"}, 17, JavaOptionsSet},
		"an empty one":         {java, []string{"JDK_JAVA_OPTIONS="}, 25, JavaOptionsSet},
		"a similar one":        {java, []string{"JDK_JAVA_OPTIONS_X=1", "X=JDK_JAVA_OPTIONS="}, 9, JavaOptionsAbsent},
		"Java 8":               {java, []string{"JDK_JAVA_OPTIONS=-Xmx1g"}, 8, JavaOptionsIgnored},
		"another launcher":     {"app", []string{"PATH=/bin"}, 21, JavaOptionsIgnored},
		"an unknown version":   {java, []string{"PATH=/bin"}, 0, JavaOptionsUnknown},
		"no environment":       {java, nil, 21, JavaOptionsUnknown},
		"another, unknown one": {"app", nil, 0, JavaOptionsIgnored},
	} {
		if got := javaOptions(tc.launcher, tc.environ, tc.major); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
