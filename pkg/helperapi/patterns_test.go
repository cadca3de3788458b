package helperapi

import (
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// The bound of each pattern is at least what it compiles to, and not much more than that.
func TestInstructions(t *testing.T) {
	for _, pattern := range []string{
		"", "a", "com\\.example\\.Main", "(?i)main", ".*", "a|b|cd|", "(a)(b)(?:c)", "[a-z]+", "\\pL?", "^$\\b\\B\\A\\z",
		"a{0}", "a{1}", "a{3}", "a{3,}", "a{0,}", "a{1,}", "a{3,7}", "(a|b){2,5}", "((a{3}){3}){3}", "(?:a*){7}", "(.?){99}", "(a?b?){0,50}", "(|a){9,}", "(a+)?", "(?:x{2}){3}",
	} {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		bound := instructions(parsed)
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		// Each program has one more instruction to fail, and one to match.
		if compiled := len(program.Inst) - 2; bound < compiled || bound > 100+5*compiled {
			t.Errorf("%q: got a bound of %d, want about %d, and not less", pattern, bound, compiled)
		}
	}
}

// FuzzInstructions compares the bound with the compiler.
func FuzzInstructions(f *testing.F) {
	for _, seed := range []string{"(.?){99}", "((a|b?){3,9}c*){2,}", "(?i)[a-z]\\pL{2}|x+?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > MaxPattern {
			return
		}
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil || instructions(parsed) > 20*MaxInstructions { // which would only take long to compile
			return
		}
		bound := instructions(parsed)
		if program, err := syntax.Compile(parsed.Simplify()); err != nil || len(program.Inst)-2 > bound {
			t.Errorf("%q: got a bound of %d, but %v instructions (%v)", pattern, bound, len(program.Inst), err)
		}
	})
}

// Patterns are refused before they are compiled: one by itself, or all of them together.
func TestPatterns(t *testing.T) {
	for name, tc := range map[string]struct {
		patterns []string
		says     string // of the last one; empty if all are accepted
	}{
		"none":                         {[]string{""}, ""},
		"usual ones":                   {[]string{"com\\.example\\..*", "org.apache.(kafka|zookeeper).+", "-D.*"}, ""},
		"longest literals":             {[]string{strings.Repeat("a", 256), strings.Repeat("é", 256), strings.Repeat("a", 256)}, ""},
		"longest without repetitions":  {[]string{strings.Repeat("a?", 128), strings.Repeat("(a", 64) + strings.Repeat(")", 64)}, ""},
		"32 rules of two patterns":     {slices.Repeat([]string{"[a-z.]+\\.(Main|Worker)[0-9]{1,2}"}, 64), ""},
		"a small repetition":           {[]string{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"}, ""},
		"too long":                     {[]string{strings.Repeat("é", 257)}, "has 257 characters, more than 256"},
		"not RE2":                      {[]string{"(?=a)"}, "invalid or unsupported Perl syntax: `(?=`"},
		"an open group":                {[]string{"(a"}, "missing closing ): `(a`"},
		"out of the anchors":           {[]string{"a)|(b"}, "unexpected ): `a)|(b`"},
		"an open quotation":            {[]string{"\\Qa.b"}, "missing closing )"},
		"a closed quotation":           {[]string{"\\Qa.b\\E"}, ""},
		"one large repetition":         {[]string{"(.?){499}"}, ""},
		"two large repetitions":        {[]string{"(.?){499}(.?){499}"}, "more than 4096 instructions"},
		"the largest repetition":       {[]string{"(.?){999}"}, "more than 4096 instructions"},
		"nested repetitions":           {[]string{"(((((.?){9}){9}){9}a)b)(((((.?){9}){9}){9}a)b)"}, "more than 4096 instructions"},
		"an open repetition":           {[]string{"(abcdef){999,}"}, "more than 4096 instructions"},
		"many large classes":           {[]string{strings.Repeat("\\pL", 85)}, "more than 4096 instructions"},
		"many patterns that are small": {slices.Repeat([]string{"(.?){99}"}, 64), "the patterns up to this one"},
	} {
		t.Run(name, func(t *testing.T) {
			var patterns Patterns
			var err error
			for _, pattern := range tc.patterns {
				if _, err = patterns.Add(pattern); err != nil {
					break
				}
			}
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got error %v, want one that says %q", err, tc.says)
			}
		})
	}
}
