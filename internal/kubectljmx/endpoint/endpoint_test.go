package endpoint

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFilter(t *testing.T) {
	const metrics = `# HELP jvm_threads_current Current thread count.
# TYPE jvm_threads_current gauge
jvm_threads_current 21.0
jvm_memory_used_bytes{area="jvm_threads"} 1.0
# HELP "a.b" Of a name that is not a legacy one.
{"a.b",le="1"} 3
# EOF
`
	for pattern, want := range map[string]string{
		"":            metrics,
		"^jvm_thr":    "# HELP jvm_threads_current Current thread count.\n# TYPE jvm_threads_current gauge\njvm_threads_current 21.0\n",
		"jvm_.*bytes": "jvm_memory_used_bytes{area=\"jvm_threads\"} 1.0\n",
		`^a\.b$`:      "# HELP \"a.b\" Of a name that is not a legacy one.\n{\"a.b\",le=\"1\"} 3\n",
		"none":        "",
	} {
		if diff := cmp.Diff(want, Filter(metrics, regexp.MustCompile(pattern))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", pattern, diff)
		}
	}
}
