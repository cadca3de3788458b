package problem

import (
	"regexp"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Limits of the schema, in bytes, which are never fewer than characters.
const (
	maxReason  = 64
	maxMessage = 512
)

// needsRight is the end of the message if logs may not be read.
const needsRight = " (log omitted: RBAC does not let the operator get pods/log; deploy config/logs)"

// verdict is the problem of a container.
type verdict struct {
	reason, message string
	// outranked is the reason of the same problem once it persists; the kubelet
	// alternates between the two.
	outranked string
}

// steady writes the verdict into the entry, keeping the previous wording if it means the
// same, so that neither the status nor the Events follow the kubelet from one state of a
// back-off to the next.
func (v verdict) steady(before, entry *v1alpha1.ProblemPod) {
	entry.Reason = text.Line(v.reason, maxReason)
	entry.Message = text.Line(v.message, maxMessage-len(needsRight))
	if before == nil {
		return
	}
	said := strings.TrimSuffix(before.Message, needsRight)
	switch {
	case v.outranked != "" && before.Reason == v.outranked && before.Reason != entry.Reason:
		entry.Reason, entry.Message = before.Reason, said
	case v.outranked == imagePullBackOff && entry.Message == "":
		// Older kubelets report the cause only the first time.
		entry.Message = said
	case before.Reason == entry.Reason && v.outranked != crashLoop && sameWords(said, entry.Message):
		// The only number of a crash is its exit code, which matters.
		entry.Message = said
	}
}

// pullFailure returns why an image cannot be pulled, without the text about the
// back-off.
func pullFailure(message string) string {
	return backOffPulling.ReplaceAllString(message, "")
}

var (
	backOffPulling = regexp.MustCompile(`^Back-off pulling image "[^"]*"(: (` + errImagePull + `|` + registryUnavailable + `|` + signatureInvalid + `))?(: )?`)
	// number matches a word without letters, a duration, or a container ID.
	number = regexp.MustCompile(`^[^\pL]*$|^[^\pL\d]*(\d+(\.\d+)?(ns|µs|ms|s|m|h))+[^\pL\d]*$|^[^\pL\d]*[0-9a-f]{12,}[^\pL\d]*$`)
)

// sameWords reports whether two messages differ only in numbers: the number of nodes,
// durations, ports, container IDs.
func sameWords(a, b string) bool {
	words := func(s string) []string {
		return slices.DeleteFunc(strings.Fields(s), number.MatchString)
	}
	return slices.Equal(words(a), words(b))
}
