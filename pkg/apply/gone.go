package apply

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsGone reports whether the object of a failed write no longer exists: it was deleted,
// possibly recreated under the same name, or its namespace is terminating.
//
// An apply that carries a UID returns 409 Conflict for an object that does not exist
// (k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyPatch), and Invalid for one
// with another UID. A delete with a UID precondition returns 409 Conflict with one of
// two wordings (pkg/registry/rest/delete.go, and apimachinery's storage errors). The
// code alone does not distinguish these from other conflicts, so IsGone checks causes
// and messages.
//
// An object of a kind that is not served is not gone.
func IsGone(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.IsNotFound(err) && !isUnserved(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	if apierrors.IsInvalid(err) {
		return strings.Contains(err.Error(), "metadata.uid")
	}
	return apierrors.IsConflict(err) && len(ConflictingManagers(err)) == 0 && slices.ContainsFunc(
		[]string{"uid mismatch", "UID in precondition", "UID in the precondition"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// isUnserved reports whether the API server does not serve the kind of an object, since its CRD
// was deleted. Its answer is a page, not a Status, which client-go notes as a cause
// (k8s.io/apimachinery pkg/api/errors, NewGenericServerResponse). The objects may come back with
// the CRD, so the write has to be tried again.
func isUnserved(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IsRejected reports whether the API server does not accept the write: the object is
// invalid, or something forbids it, such as a quota, an admission policy or a missing
// right. The same write is rejected until somebody changes that.
func IsRejected(err error) bool {
	return (apierrors.IsInvalid(err) || apierrors.IsForbidden(err)) && !IsGone(err)
}

// IsStale reports whether the write was based on an outdated version of the object,
// which must be read again.
func IsStale(err error) bool {
	return apierrors.IsConflict(err) && !IsGone(err) && len(ConflictingManagers(err)) == 0
}
