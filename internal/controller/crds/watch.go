package crds

import (
	"context"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// Watch keeps Definitions up to date. It implements manager.Runnable.
type Watch struct {
	*Definitions
	Client apiextensionsclient.CustomResourceDefinitionInterface
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: replicas that stand by are ready
// only if they could lead.
func (w *Watch) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It watches each definition by its name, since the operator has
// no right to read others (config/users/crds_role.yaml). Without the right, it tries again.
func (w *Watch) Start(ctx context.Context) error {
	var all sync.WaitGroup
	for name := range w.built {
		all.Go(func() {
			toolscache.NewReflector(w.named(name), &apiextensionsv1.CustomResourceDefinition{}, &store{w.Definitions, ctx, name}, 0).RunWithContext(ctx)
		})
	}
	all.Wait()
	return nil
}

// named lists and watches one definition.
func (w *Watch) named(name string) *toolscache.ListWatch {
	only := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		return options
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := w.Client.List(ctx, only(options))
			if err != nil {
				w.fail(name, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return w.Client.Watch(ctx, only(options))
		},
	}
}

// store has the Definitions follow one that is watched.
type store struct {
	*Definitions
	ctx  context.Context
	name string
}

var _ toolscache.ReflectorStore = &store{}

// Replace implements toolscache.ReflectorStore.
func (s *store) Replace(list []any, _ string) error {
	if len(list) == 0 {
		return s.Delete(nil)
	}
	return s.Update(list[0])
}

// Add implements toolscache.ReflectorStore.
func (s *store) Add(object any) error { return s.Update(object) }

// Update implements toolscache.ReflectorStore.
func (s *store) Update(object any) error {
	s.set(s.ctx, s.name, object.(*apiextensionsv1.CustomResourceDefinition))
	return nil
}

// Delete implements toolscache.ReflectorStore.
func (s *store) Delete(any) error {
	s.set(s.ctx, s.name, nil)
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *store) Resync() error { return nil }
