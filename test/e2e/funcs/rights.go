package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// WithoutRight takes a resource out of the operator's ClusterRole until the
// feature ends or Restored runs. It belongs into a Setup.
func (s *Suite) WithoutRight(resource string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		role := s.clusterRole(ctx, t)
		rules, _, err := unstructured.NestedSlice(role.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		left := slices.DeleteFunc(slices.Clone(rules), func(rule any) bool {
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			return slices.Contains(resources, resource)
		})
		if len(left) != len(rules)-1 {
			t.Fatalf("the ClusterRole has not one rule for %s: %v", resource, rules)
		}
		if err := unstructured.SetNestedSlice(role.Object, left, "rules"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.restore(context.WithoutCancel(ctx), t, c) })
		if err := c.apply(ctx, role, kubectl, ""); err != nil {
			t.Fatal(err)
		}
	})
}

// withoutRightsBeyond deletes the cluster's roles of config/default, and their bindings,
// that another kustomization does not have.
func (s *Suite) withoutRightsBeyond(kustomization string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		had, err := s.build(ctx, "config/default")
		if err != nil {
			t.Fatal(err)
		}
		wanted, err := s.build(ctx, kustomization)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range had {
			if !strings.HasPrefix(object.GetKind(), "ClusterRole") || slices.ContainsFunc(wanted, func(w *unstructured.Unstructured) bool {
				return w.GetKind() == object.GetKind() && w.GetName() == object.GetName()
			}) {
				continue
			}
			if err := c.remove(ctx, object); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// WithoutContainment deletes the policies for the service account of config/default until
// the feature ends. It belongs into a Setup.
func (s *Suite) WithoutContainment() features.Func {
	return All(s.PutBack(), verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		has, err := s.build(ctx, "config/default")
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range has {
			if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") && object.GetLabels()["app.kubernetes.io/component"] == "containment" {
				if err := c.remove(ctx, object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}))
}

// withoutPoliciesBeyond deletes the admission policies of a kustomization that
// config/default does not have, when the feature ends.
func (s *Suite) withoutPoliciesBeyond(kustomization string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		stay, err := s.build(ctx, "config/default")
		if err != nil {
			t.Fatal(err)
		}
		has, err := s.build(ctx, kustomization)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range has {
			if strings.HasPrefix(object.GetKind(), "ValidatingAdmissionPolicy") && !slices.ContainsFunc(stay, func(w *unstructured.Unstructured) bool {
				return w.GetKind() == object.GetKind() && w.GetName() == object.GetName()
			}) {
				t.Cleanup(func() {
					if err := c.remove(context.WithoutCancel(ctx), object); err != nil {
						t.Error(err)
					}
				})
			}
		}
	})
}

// MayPatch waits until the operator may, or may not, patch a subresource of pods.
func MayPatch(subresource string, may bool) features.Func { return mayUse("patch", subresource, may) }

// MayCreate waits until the operator may create a subresource of pods, or may not.
func MayCreate(subresource string, may bool) features.Func { return mayUse("create", subresource, may) }

func mayUse(by, subresource string, may bool) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		allowed, err := c.operatorMay(ctx, by, subresource)
		if err == nil && allowed != may {
			err = fmt.Errorf("the operator may %s pods/%s: %t", by, subresource, allowed)
		}
		return err
	})
}

// operatorMay asks the API server whether the operator has a right on a subresource of
// pods.
func (c *cluster) operatorMay(ctx context.Context, verb, subresource string) (bool, error) {
	operator, err := kubernetes.NewForConfig(c.asOperator())
	if err != nil {
		return false, err
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "pods", Subresource: subresource, Namespace: "default"},
	}}
	review, err = operator.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// Restored gives the operator all of its rights again.
func (s *Suite) Restored() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) { t.Helper(); s.restore(ctx, t, c) })
}

func (s *Suite) restore(ctx context.Context, t *testing.T, c *cluster) {
	t.Helper()
	if err := c.apply(ctx, s.clusterRole(ctx, t), kubectl, ""); err != nil {
		t.Fatal(err)
	}
}

func (s *Suite) clusterRole(ctx context.Context, t *testing.T) *unstructured.Unstructured {
	t.Helper()
	objects, err := s.build(ctx, "config/default")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "ClusterRole" && o.GetName() == operatorName
	})
	if i < 0 {
		t.Fatal("config/default has no ClusterRole " + operatorName)
	}
	return objects[i]
}

// MayReadLogs gives the operator the right to read logs until the feature ends.
// It belongs into a Setup.
func (s *Suite) MayReadLogs() features.Func {
	return All(
		s.granted("test/e2e/manifests/problems/logs", operatorName+"-logs"),
		until(func(ctx context.Context, c *cluster) error {
			allowed, err := c.operatorMay(ctx, "get", "log")
			if err == nil && !allowed {
				err = errors.New("the operator may not read logs yet")
			}
			return err
		}))
}

// MayGetSecrets gives the operator the right to get Secrets until the test of this step
// ends. It belongs into a Setup.
func (s *Suite) MayGetSecrets() features.Func {
	return s.granted("test/e2e/manifests/endpoint-security/right", operatorName+"-endpoint-security")
}

// granted applies a role and its binding, of one name, that a kustomization has beside
// config/default.
func (s *Suite) granted(kustomization, name string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.build(ctx, kustomization)
		if err != nil {
			t.Fatal(err)
		}
		rights := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() != name })
		if len(rights) != 2 {
			t.Fatalf("%s has %d objects %s, not a role and its binding", kustomization, len(rights), name)
		}
		t.Cleanup(func() {
			for _, object := range rights {
				if err := await(context.WithoutCancel(ctx), patience, func(ctx context.Context) error {
					return client.IgnoreNotFound(c.Delete(ctx, object))
				}); err != nil {
					t.Error(err)
				}
			}
		})
		for _, object := range rights {
			if err := c.apply(ctx, object, kubectl, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// asOperator is the operator's own way to the API.
func (c *cluster) asOperator() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Impersonate.UserName = operatorUser
	return config
}

// ExecRefused waits until the operator's execs into the namespace are refused, with these
// words. It tries one that the operator's own policies accept, for of several policies
// that refuse, the API server repeats the words of any. There is no such container, so
// nothing is executed where none refuses.
func ExecRefused(namespace, words string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		pods, err := podsOf(namespace, label)(ctx, c)
		if err != nil {
			return err
		}
		_, _, err = execAs(ctx, c.asOperator(), nil, namespace, pods[0].Name, transport.DoorPrefix+"none",
			helperapi.DoorProgram, string(helperapi.VerbServe), helperapi.ServeInDoor)
		return refusedWith(err, words)
	})
}

// AnnotationRefused waits until the operator's writes to pods of the namespace are refused,
// with these words. It tries one that the operator's own policies accept: see ExecRefused.
func AnnotationRefused(namespace, words string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		operator, err := client.New(c.asOperator(), client.Options{Scheme: c.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			pods, err := podsOf(namespace, label)(ctx, c)
			if err != nil {
				return err
			}
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationScrape+`":"true"}}}`))
			return refusedWith(operator.Patch(ctx, &pods[0], patch, client.DryRunAll), words)
		})
	})
}

func refusedWith(err error, words string) error {
	if err == nil || !strings.Contains(err.Error(), words) {
		return fmt.Errorf("not refused with %q yet, but %w", words, outcome(err))
	}
	return nil
}

func outcome(err error) error {
	if err == nil {
		return errors.New("allowed")
	}
	return err
}
