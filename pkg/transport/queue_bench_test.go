package transport

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkQueue releases a place and takes it again while 5000 pods of three namespaces wait.
func BenchmarkQueue(b *testing.B) {
	l := NewLimits(16, 5, 12)
	l.OnRoom(func(string, string) bool { return true })
	in := func(i int) Container {
		return Container{Namespace: fmt.Sprint(i % 3), Pod: fmt.Sprint(i), PodUID: types.UID(fmt.Sprint(i)), Node: fmt.Sprint(i % 100), Origin: Origin{Exporter: fmt.Sprint(i % 21)}}
	}
	var taken []*place
	for i := range 5016 {
		if p, err := l.acquire(in(i)); err == nil {
			taken = append(taken, p)
		}
	}
	stays := taken[0]
	for b.Loop() {
		l.update(func() { stays.move(fresh); stays.move(fresh) })
	}
}
