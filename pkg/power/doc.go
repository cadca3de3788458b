// Package power is the table of what gives containers power over their node. The operator
// finds it in specifications (pkg/pod), the node agent in what the kernel shows of processes
// (internal/helper): both have the same flags. It imports nothing of Kubernetes, because the
// helper does not.
package power
