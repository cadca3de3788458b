package transport

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Space is how much may be written to a container's /tmp, as far as the pod's spec
// says. Beyond it the kubelet evicts the pod, some time after the write succeeded.
type Space struct {
	// Bytes is the bound; 0 if there is none.
	Bytes int64
	// Bound is what sets it, as the subject of a sentence.
	Bound string
}

// CheckSpace returns an *Error with ReasonStorageLimitTooLow unless there is room for twice
// the files given: what else lies there cannot be seen in a spec.
func (c Container) CheckSpace(files ...Blob) error {
	needed := 2 * size(files)
	if c.Space.Bytes == 0 || needed <= c.Space.Bytes {
		return nil
	}
	return &Error{Reason: v1alpha1.ReasonStorageLimitTooLow, Message: fmt.Sprintf(
		"%s, above which the kubelet evicts the pod; attaching needs %d bytes of it, twice the size of its files. Raise the limit.", c.Space.Bound, needed)}
}
