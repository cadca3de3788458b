// Package gitops shows what Argo CD and the tools that use kstatus, such as Flux, make of
// the states of an exporter and of a record. The samples in testdata are written and
// compared by the tests of internal/controller.
package gitops
