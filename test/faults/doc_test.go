// Package faults runs one scenario many times, each time with a fault: the agent is
// loaded into a JVM, gets another configuration, and is stopped. Whatever fails at whichever
// moment, the end is the same, and no rule is broken on the way.
//
// The operator is a process of its own, which runs cmd/manager's wiring and dies by SIGKILL
// where a plan says so. The API server and etcd are real (test/controlplane). The node is
// fake (test/fakenode). A proxy between operator and API server counts from outside what the
// operator does, cuts streams after an exact number of bytes, and refuses writes.
//
// The plans are generated from what the operator does without a fault (plans_test.go), and
// have the same oracles (oracles_test.go). docs/faults.md describes both.
package faults
