package shard

import (
	"fmt"
	"testing"
)

// Each namespace has one shard, and the shards have about as many each.
func TestOwns(t *testing.T) {
	const namespaces = 10_000
	for _, of := range []int{0, 1, 2, 3, 8} {
		has := map[int]int{}
		for n := range namespaces {
			namespace, owners := fmt.Sprintf("team-%d", n), 0
			for i := range max(of, 1) {
				if (Shard{Index: i, Total: of}).Owns(namespace) {
					has[i]++
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("%d of %d shards own %s, want 1", owners, of, namespace)
			}
		}
		for i := range max(of, 1) {
			if share := float64(has[i]) * float64(max(of, 1)) / namespaces; share < 0.9 || share > 1.1 {
				t.Errorf("shard %d of %d has %.2f times its share", i, of, share)
			}
		}
	}
}

// The name of a Lease says of how many shards it is one, so that it is found by operators
// with another number.
func TestLeaseName(t *testing.T) {
	for _, tc := range []struct {
		lease string
		of    Shard
		ours  bool
	}{
		{"operator", Shard{}, true},
		{"operator", Shard{Total: 1}, true},
		{"operator-1-of-3", Shard{Index: 1, Total: 3}, true},
		{"operator-12-of-30", Shard{Index: 12, Total: 30}, true},
		{lease: "operator-1-of-3x"},
		{lease: "operator-01-of-3"},
		{lease: "operator-of-3"},
		{lease: "operator-2"},
		{lease: "other-1-of-3"},
		{lease: ""},
	} {
		if tc.ours && tc.of.LeaseName("operator") != tc.lease {
			t.Errorf("the Lease of %+v is %s, want %s", tc.of, tc.of.LeaseName("operator"), tc.lease)
		}
		if of, ours := total("operator", tc.lease); ours != tc.ours || of != max(tc.of.Total, 1) && ours {
			t.Errorf("%q is a Lease of %d shards: %t, want %d: %t", tc.lease, of, ours, max(tc.of.Total, 1), tc.ours)
		}
	}
}
