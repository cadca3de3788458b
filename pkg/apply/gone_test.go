package apply

import (
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
