package apply

import (
	"errors"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The server names the other manager in the message of each cause only:
// conflict with "kubectl-client-side-apply" using v1 (structured-merge-diff's
// conflicts, k8s.io/apimachinery pkg/util/managedfields/internal/conflict.go).
var conflictingManager = regexp.MustCompile(`conflict with "((?:[^"\\]|\\.)*)"`)

// ConflictingManagers are the field managers that own what an apply, not
// forced, wanted to change, sorted, each once. None if err is no such conflict.
func ConflictingManagers(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var managers []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		if m := conflictingManager.FindStringSubmatch(cause.Message); m != nil {
			managers = append(managers, m[1])
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}
