package apply

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsGone tells that the object written to is not there any more: it was deleted,
// or deleted and created again under the same name.
//
// An apply that carries a UID answers 409 Conflict for an object that does not
// exist and for one with another UID (k8s.io/apiserver
// pkg/endpoints/handlers/patch.go, applyPatch), and a delete with a UID
// precondition 409 Conflict too; neither is told from a field conflict by its
// code, so the causes and the words are looked at.
func IsGone(err error) bool {
	if err == nil {
		return false
	}
	if apierrors.IsNotFound(err) {
		return true
	}
	if apierrors.IsInvalid(err) {
		return strings.Contains(err.Error(), "metadata.uid")
	}
	return apierrors.IsConflict(err) && len(ConflictingManagers(err)) == 0 &&
		(strings.Contains(err.Error(), "uid mismatch") || strings.Contains(err.Error(), "UID in precondition"))
}
