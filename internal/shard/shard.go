// Package shard divides the namespaces of a cluster between operators.
package shard

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
)

// Max is the largest number of shards: a role names their Leases.
const Max = 8

// Shard is one of Total operators that share the namespaces of a cluster. The zero value is
// an operator that has all of them.
type Shard struct {
	// Index counts from 0.
	Index int
	// Total is how many there are, at most Max.
	Total int
}

// Owns reports whether the namespace is one of the shard's: the remainder of the first 8 bytes
// of its name's SHA-256. This never changes, since operators of two releases run side by side
// during an upgrade.
func (s Shard) Owns(namespace string) bool {
	if s.total() == 1 {
		return true
	}
	digest := sha256.Sum256([]byte(namespace))
	return binary.BigEndian.Uint64(digest[:])%uint64(s.Total) == uint64(s.Index) //nolint:gosec // both are small and not negative
}

func (s Shard) total() int { return max(s.Total, 1) }

// LeaseName returns the name of the Lease of the shard's leader. The first shard has that of an
// operator of all namespaces.
func (s Shard) LeaseName(prefix string) string {
	if s.Index == 0 {
		return prefix
	}
	return prefix + "-" + strconv.Itoa(s.Index)
}

// isLease reports whether a Lease is that of a shard.
func isLease(prefix, name string) bool {
	for i := range Max {
		if (Shard{Index: i}).LeaseName(prefix) == name {
			return true
		}
	}
	return false
}

// holder returns the identity of an operator as the holder of a Lease, which says how many
// shards there are.
func (s Shard) holder(identity string) string {
	if s.total() == 1 {
		return identity
	}
	return fmt.Sprintf("%s_%d-of-%d", identity, s.Index, s.Total)
}

var ofTotal = regexp.MustCompile(`_\d+-of-(\d+)$`)

// totalOf returns how many shards the holder of a Lease knows.
func totalOf(holder string) int {
	if found := ofTotal.FindStringSubmatch(holder); found != nil {
		if total, err := strconv.Atoi(found[1]); err == nil {
			return total
		}
	}
	return 1
}
