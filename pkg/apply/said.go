package apply

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Said is what the API server said, as one sentence of bounded length without
// the object's name before it.
func Said(err error) string {
	var status apierrors.APIStatus
	text := err.Error()
	if errors.As(err, &status) {
		text = status.Status().Message
	}
	if _, after, ok := strings.Cut(text, "is forbidden: "); ok {
		text = after
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 250 {
		text = strings.ToValidUTF8(text[:250], "") + "…"
	}
	return strings.TrimRight(text, ". ") + "."
}
