// Package mutants breaks the operator's code on purpose, one rule at a time, and expects
// that the test of that rule turns red: a rule that no test holds is lost sooner or later.
//
// The tree is never changed: a mutant is given to the compiler by go test -overlay. A mutant
// that no longer applies, does not compile, or whose test does not pass without it, is an
// error.
//
//	make test-mutants
//	go test -v -tags mutants -run 'TestMutants/.*halted' ./hack/mutants
package mutants
