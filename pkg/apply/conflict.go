package apply

import (
	"errors"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The server names the other manager only in the message of each cause: conflict with
// "kubectl-client-side-apply" using v1 (structured-merge-diff's conflicts,
// k8s.io/apimachinery pkg/util/managedfields/internal/conflict.go).
var conflictingManager = regexp.MustCompile(`conflict with "((?:[^"\\]|\\.)*)"`)

// ConflictingManagers returns the field managers that own fields which a non-forced
// apply wanted to change, sorted and without duplicates. It returns none if err is not
// such a conflict.
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
