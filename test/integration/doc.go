// Package integration tests the operator against a real etcd and kube-apiserver.
//
// The node is fake (test/fakenode): pods are created and their status is written by the
// tests, and what happens in containers is scripted. All that the operator reads and writes
// is real: validation, server-side apply, field ownership, RBAC, admission, watches.
//
// Most tests call the reconcilers directly, with a client that does not cache,
// so that what happens next is decided by the test; manager_test.go runs them
// as cmd/manager does.
package integration
