package apply

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsGone reports that the object written to is not there any more: it was deleted,
// or deleted and created again under the same name, or its namespace is going.
//
// An apply that carries a UID answers 409 Conflict for an object that does not
// exist (k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyPatch) and
// Invalid for one with another UID; a delete with a UID precondition answers 409
// Conflict in one of two wordings (pkg/registry/rest/delete.go, and
// apimachinery's storage errors). None is told from another conflict by its
// code, so the causes and the words are looked at.
func IsGone(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	if apierrors.IsInvalid(err) {
		return strings.Contains(err.Error(), "metadata.uid")
	}
	return apierrors.IsConflict(err) && len(ConflictingManagers(err)) == 0 && slices.ContainsFunc(
		[]string{"uid mismatch", "UID in precondition", "UID in the precondition"},
		func(words string) bool { return strings.Contains(err.Error(), words) })
}

// IsStale reports that the object was changed since what was written was made from
// it: it is read and dealt with anew.
func IsStale(err error) bool {
	return apierrors.IsConflict(err) && !IsGone(err) && len(ConflictingManagers(err)) == 0
}
