package funcs

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Implementations remembers which implementation of the agent runs in the
// processes of a namespace.
type Implementations struct {
	namespace, before, after string
}

// ImplementationsIn are the implementations in a namespace.
func ImplementationsIn(namespace string) *Implementations {
	return &Implementations{namespace: namespace}
}

// Remember remembers the one that runs now.
func (i *Implementations) Remember() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		i.before = answer(ctx, t, func(ctx context.Context) (string, error) { return c.implementation(ctx, i.namespace) })
	})
}

// Changed waits until another one runs in all processes, as the agents themselves say.
func (i *Implementations) Changed() features.Func {
	return until(func(ctx context.Context, c *cluster) (err error) {
		if i.after, err = c.implementation(ctx, i.namespace); err == nil && i.after == i.before {
			err = fmt.Errorf("implementation %s still runs", i.before)
		}
		return err
	})
}

// Back waits until the one that was remembered runs again.
func (i *Implementations) Back() features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		now, err := c.implementation(ctx, i.namespace)
		if err == nil && now != i.before {
			err = fmt.Errorf("implementation %s runs, not %s", now, i.before)
		}
		return err
	})
}

// implementation is the one that runs in all processes of a namespace, by the
// records and by the agents' marks.
func (c *cluster) implementation(ctx context.Context, namespace string) (string, error) {
	all, err := c.attachments(ctx, namespace)
	if err != nil {
		return "", err
	}
	one := ""
	for _, r := range all {
		for _, p := range r.Status.Processes {
			mark, err := c.mark(ctx, &r, &p)
			if err != nil {
				return "", err
			}
			if p.ImplementationSHA256 != mark.ImplementationSHA256 {
				return "", fmt.Errorf("%s: the record says implementation %q, the agent %q", r.Spec.Pod.Name, p.ImplementationSHA256, mark.ImplementationSHA256)
			}
			if one != "" && one != mark.ImplementationSHA256 {
				return "", fmt.Errorf("both %s and %s run", one, mark.ImplementationSHA256)
			}
			one = mark.ImplementationSHA256
		}
	}
	if one == "" {
		return "", errors.New("no agent runs")
	}
	return one, nil
}
