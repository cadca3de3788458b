package faults

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// wrong is what is wrong with an operator that shows that an oracle can fail; nothing if it is
// empty.
type wrong string

const (
	// hot writes ten times a second, though nothing has changed.
	hot wrong = "hot"
	// deaf does not end when it is asked to.
	deaf wrong = "deaf"
)

// begin begins to do what is wrong, and returns the context of the operator.
func (w wrong) begin(ctx context.Context, clientset kubernetes.Interface, namespace string) context.Context {
	switch w {
	case hot:
		go wait.UntilWithContext(ctx, func(ctx context.Context) {
			_, _ = clientset.CoreV1().Pods(namespace).Patch(ctx, podName, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		}, 100*time.Millisecond)
	case deaf:
		return context.WithoutCancel(ctx)
	}
	return ctx
}
