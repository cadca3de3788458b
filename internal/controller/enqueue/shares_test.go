package enqueue

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// Slots go to those that wait in the order in which they came, but pass over a namespace that has
// its half, and over those that gave up.
func TestSlotsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := NewSlots(4)
		var order []string
		frees := map[string]func(){}
		take := func(ctx context.Context, name, namespace string) {
			go func() {
				free, err := slots.Take(ctx, namespace)
				if err != nil {
					order = append(order, name+" gave up")
					return
				}
				order = append(order, name)
				frees[name] = free
			}()
			synctest.Wait()
		}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(order, want) {
				t.Errorf("got %v, want %v", order, want)
			}
			order = nil
		}
		impatient, cancel := context.WithCancel(t.Context())
		for _, name := range []string{"1", "2", "3"} {
			take(t.Context(), name, "shop")
		}
		take(impatient, "4", "shop")
		for _, name := range []string{"5", "6"} {
			take(t.Context(), name, "shop")
		}
		expect("1", "2")
		take(t.Context(), "other", "bank")
		expect("other")
		frees["2"]() // bank has one of four: shop may have half of the other three
		expect("3")
		cancel()
		expect("4 gave up")
		frees["1"]()
		expect("5")
		frees["other"]()
		frees["3"]()
		expect("6")
		frees["5"]()
		frees["6"]()
		for _, name := range []string{"7", "8"} {
			take(t.Context(), name, "shop")
		}
		expect("7", "8")
	})
}
