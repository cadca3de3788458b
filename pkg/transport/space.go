package transport

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Space is how much may be written to a container's /tmp according to the pod's spec. If
// more is written, the kubelet evicts the pod some time after the write succeeded.
type Space struct {
	// Bytes is the limit; 0 means none.
	Bytes int64
	// Bound describes what sets the limit, as the subject of a sentence.
	Bound string
}

// CheckSpace returns an *Error with ReasonStorageLimitTooLow unless there is room for twice
// the size of the files: the spec does not show what else is stored there.
func (c Container) CheckSpace(files ...Blob) error {
	needed := 2 * size(files)
	if c.Space.Bytes == 0 || needed <= c.Space.Bytes {
		return nil
	}
	return &Error{Reason: v1alpha1.ReasonStorageLimitTooLow, Message: fmt.Sprintf(
		"%s, above which the kubelet evicts the pod; attaching needs %d bytes of it, twice the size of its files. Raise the limit.", c.Space.Bound, needed)}
}
