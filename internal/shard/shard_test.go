package shard

import (
	"fmt"
	"testing"
)

// Each namespace has one shard, and the shards have about as many each, whatever scheme names
// follow.
func TestOwns(t *testing.T) {
	const namespaces = 10_000
	for _, scheme := range []string{"team-%d", "c%[1]d-app-%[1]d", "%d", "tenant-%05d-prod"} {
		for _, of := range []int{0, 1, 2, 3, Max} {
			has := map[int]int{}
			for n := range namespaces {
				namespace, owners := fmt.Sprintf(scheme, n), 0
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
					t.Errorf("%s: shard %d of %d has %.2f times its share", scheme, i, of, share)
				}
			}
		}
	}
}

// A namespace keeps its shard in all releases.
func TestOwnsTheSame(t *testing.T) {
	for namespace, want := range map[string]int{"default": 5, "shop": 5, "bank": 6, "kube-system": 1} {
		for i := range Max {
			if (Shard{Index: i, Total: Max}).Owns(namespace) && i != want {
				t.Errorf("shard %d of %d owns %s, want %d", i, Max, namespace, want)
			}
		}
	}
}

// The holder of a Lease says of how many shards it is one.
func TestHolder(t *testing.T) {
	for _, of := range []Shard{{}, {Total: 1}, {Index: 1, Total: 3}, {Index: 7, Total: Max}} {
		if got := totalOf(of.holder("pod-1-of-9-x_uid")); got != max(of.Total, 1) {
			t.Errorf("holder %s: got %d shards, want %d", of.holder("pod-1-of-9-x_uid"), got, max(of.Total, 1))
		}
	}
	for name, want := range map[string]bool{"operator": true, "operator-1": true, "operator-7": true, "operator-8": false, "operator-01": false, "other-1": false, "": false} {
		if isLease("operator", name) != want {
			t.Errorf("Lease %q is one of a shard: %t, want %t", name, !want, want)
		}
	}
}
