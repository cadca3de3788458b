// Package shard divides the namespaces of a cluster between operators.
package shard

import (
	"fmt"
	"hash/fnv"
)

// Shard is one of Total operators that share the namespaces of a cluster. The zero value is
// an operator that has all of them.
type Shard struct {
	// Index counts from 0.
	Index int
	// Total is how many there are.
	Total int
}

// Owns reports whether the namespace is one of the shard's. All operators of one Total
// agree on it, and a namespace keeps its shard while Total stays.
func (s Shard) Owns(namespace string) bool {
	if s.whole() {
		return true
	}
	hash := fnv.New32a()
	hash.Write([]byte(namespace))
	return hash.Sum32()%uint32(s.Total) == uint32(s.Index) //nolint:gosec // both are small and not negative
}

// whole reports whether there are no other shards.
func (s Shard) whole() bool { return s.Total <= 1 }

// LeaseName returns the name of the Lease of the shard's leader: prefix for an operator that
// has all namespaces, or prefix-INDEX-of-TOTAL.
func (s Shard) LeaseName(prefix string) string {
	if s.whole() {
		return prefix
	}
	return fmt.Sprintf("%s-%d-of-%d", prefix, s.Index, s.Total)
}

// total returns the Total of the shard that has the Lease; false for a Lease of something
// else.
func total(prefix, lease string) (int, bool) {
	if lease == prefix {
		return 1, true
	}
	var s Shard
	if _, err := fmt.Sscanf(lease, prefix+"-%d-of-%d", &s.Index, &s.Total); err != nil || s.LeaseName(prefix) != lease {
		return 0, false
	}
	return s.Total, true
}
