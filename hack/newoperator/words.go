package main

import (
	"regexp"
	"strings"
)

// called is what the skeleton is called, in texts and in names of files. A plural is a word's end:
// skeletonstatus is none.
var called = regexp.MustCompile(regexp.QuoteMeta(engine+"/examples/skeleton") + `|[Ss]keletons\b|[Ss]keleton|example\.com`)

// article is what a vowel changes in front of it.
var article = regexp.MustCompile(`\b([Aa]) Skeleton\b`)

// words has what replaces what the skeleton is called.
type words struct {
	names map[string]string
	an    string
}

// newWords returns the words of a request.
func newWords(r request) words {
	w := words{an: "$1 Skeleton", names: map[string]string{
		engine + "/examples/skeleton": r.module,
		"Skeletons":                   pluralOf(r.name, r.plural),
		"skeletons":                   r.plural,
		"Skeleton":                    r.name,
		"skeleton":                    strings.ToLower(r.name),
		"example.com":                 r.group,
	}}
	if vowel.MatchString(r.name) {
		w.an = "${1}n Skeleton"
	}
	return w
}

// text replaces the words of a text.
func (w words) text(s string) string {
	s = article.ReplaceAllString(s, w.an)
	return called.ReplaceAllStringFunc(s, func(name string) string { return w.names[name] })
}

// vowel matches names whose English article is "an": with a vowel that is spoken as one.
var vowel = regexp.MustCompile(`^(A|E[^u]|I|O[^n]|On[^e]|U[^nst]|Un[^i]|Up)`)

// pluralOf writes the plural of a resource as its kind is written: NetworkPolicies of NetworkPolicy and
// networkpolicies.
func pluralOf(name, plural string) string {
	lower, same := strings.ToLower(name), 0
	for same < min(len(lower), len(plural)) && lower[same] == plural[same] {
		same++
	}
	return name[:same] + plural[same:]
}
