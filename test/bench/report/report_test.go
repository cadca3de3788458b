package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   string
	}{
		"one":  {[]float64{1.25}, "1.2"},
		"odd":  {[]float64{3, 1, 2}, "2.0 (1.0 to 3.0)"},
		"even": {[]float64{4, 1, 2, 3}, "2.5 (1.0 to 4.0)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Spread("%.1f", test.values); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPageKeepsWhatIsOutsideOfTheMarkers(t *testing.T) {
	const (
		begin, other = "<!-- make bench writes from here -->\n", "<!-- make bench-agent writes from here -->\n"
		end          = "<!-- to here -->\n"
	)
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"between\n"+other+"its\n"+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Write(page, "bench", "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("before\n"+begin+"\nnew\n\n"+end+"between\n"+other+"its\n"+end+"after\n", string(got)); diff != "" {
		t.Error(diff)
	}
	if Write(page, "nothing", "new") == nil {
		t.Error("a page without markers is written")
	}
}
