package apply

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// An object whose CRD was deleted may come back; one that is not found does not. What else means
// that an object is gone, a real API server says: TestGone in test/integration.
func TestGoneOrUnserved(t *testing.T) {
	t.Parallel()
	of := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"not found":  {apierrors.NewNotFound(of, "a"), true},
		"not served": {apierrors.NewGenericServerResponse(http.StatusNotFound, "patch", of, "a", "404 page not found", 0, true), false},
	} {
		if got := IsGone(tc.err); got != tc.want {
			t.Errorf("%s: IsGone(%v) = %t, want %t", name, tc.err, got, tc.want)
		}
	}
}

// A write that is rejected is not tried again by itself; one to what is gone is not rejected.
func TestIsRejected(t *testing.T) {
	t.Parallel()
	of, reason := schema.GroupResource{Group: "example.com", Resource: "widgets"}, errors.New("quota")
	uid := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "x", "field is immutable")}
	terminating := apierrors.NewForbidden(of, "a", reason)
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"success":                        {nil, false},
		"forbidden":                      {apierrors.NewForbidden(of, "a", reason), true},
		"invalid":                        {apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "a", nil), true},
		"the namespace is terminating":   {terminating, false},
		"another object has the name":    {apierrors.NewInvalid(schema.GroupKind{Kind: "Widget"}, "a", uid), false},
		"written to meanwhile":           {apierrors.NewConflict(of, "a", reason), false},
		"the API server has an accident": {apierrors.NewInternalError(reason), false},
	} {
		if got := IsRejected(tc.err); got != tc.want {
			t.Errorf("%s: IsRejected(%v) = %t, want %t", name, tc.err, got, tc.want)
		}
	}
}
