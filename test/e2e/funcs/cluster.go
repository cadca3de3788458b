// Package funcs holds the verbs of the features: each is a step of the
// e2e-framework, and fails the test with what it saw last.
package funcs

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
)

const (
	// patience is how long a condition may take. It is no promise of the
	// product: machines that run tests are slow.
	patience = 4 * time.Minute
	interval = 300 * time.Millisecond
)

// cluster is the cluster as the verbs need it.
type cluster struct {
	client.Client
	config *rest.Config
	kube   kubernetes.Interface
}

func clusterOf(cfg *envconf.Config) (*cluster, error) {
	config := cfg.Client().RESTConfig()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{Client: cfg.Client().Resources().GetControllerRuntimeClient(), config: config, kube: kube}, nil
}

// eventually waits until nothing is missing, and fails the test with what still is.
func eventually(ctx context.Context, t *testing.T, missing func(context.Context) error) {
	t.Helper()
	if err := await(ctx, patience, missing); err != nil {
		t.Fatal(err)
	}
}

// answer waits for one, and fails the test with what keeps it from coming, which
// may be the way there. What it says is asserted once.
func answer[T any](ctx context.Context, t *testing.T, ask func(context.Context) (T, error)) T {
	t.Helper()
	var said T
	eventually(ctx, t, func(ctx context.Context) (err error) {
		said, err = ask(ctx)
		return err
	})
	return said
}

// remove deletes an object. Where the answer to a try was lost, that it is not
// there, or is another one by now, is the answer.
func (c *cluster) remove(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if uid := object.GetUID(); uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	asked := false
	return await(ctx, patience, func(ctx context.Context) error {
		err := c.Delete(ctx, object, options...)
		gone := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
		if asked && gone {
			return nil
		}
		asked = asked || !gone
		return err
	})
}

// await waits until nothing is missing; its error is what still is.
func await(ctx context.Context, timeout time.Duration, missing func(context.Context) error) error {
	return awaitEvery(ctx, timeout, interval, missing)
}

// awaitEvery is await that looks again after such a pause.
func awaitEvery(ctx context.Context, timeout, pause time.Duration, missing func(context.Context) error) error {
	last := errors.New("not looked at yet")
	err := wait.For(func(ctx context.Context) (bool, error) {
		if err := missing(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	}, wait.WithContext(ctx), wait.WithTimeout(timeout), wait.WithInterval(pause), wait.WithImmediate())
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
