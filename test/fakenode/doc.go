//go:build linux

// Package fakenode is a node for tests against a real API server: a kubelet and the
// containers of its pods, for thousands of pods in one process.
//
// Real are:
//   - the streams of an exec, a port-forward and a log, over WebSocket and SPDY: the
//     kubelet serves them with the code of containerd's streaming server
//     (k8s.io/cri-streaming), and the API server connects to it as to any kubelet;
//   - what is said on them: the operator's own script is recognized, not run, and what it
//     and the helper would say is said byte by byte;
//   - the files: each container has an agent directory on disk, which internal/helper/directory
//     writes, locks and removes.
//
// Fake are:
//   - the shell and the process of the helper: verbs.go states what it would do;
//   - the JVMs: a process ID, a start time, an attach socket that opens when it is asked for,
//     and an agent, which counts its loads;
//   - the network of pods: a Prober asks the containers, not their addresses;
//   - the kubelet's part in the API: tests create nodes and pods, and write their status.
//
// Real helpers in real JVMs are tested in internal/helper, test/hostile and test/e2e.
package fakenode
