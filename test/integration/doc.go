// Package integration tests the operator against a real etcd and kube-apiserver.
//
// There is no kubelet: pods are created and their status is written by the
// tests, and what happens in containers is scripted (containers_test.go). All
// that the operator reads and writes is real: validation, server-side apply,
// field ownership, RBAC, admission, watches.
//
// Most tests call the reconcilers directly, with a client that does not cache,
// so that what happens next is decided by the test; manager_test.go runs them
// as cmd/manager does.
package integration
