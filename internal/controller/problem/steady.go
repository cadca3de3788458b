package problem

import (
	"regexp"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// What the schema takes, in bytes, which are never fewer than its characters.
const (
	maxReason  = 64
	maxMessage = 512
)

// verdict is what is wrong.
type verdict struct {
	reason, message string
	// outranked is the reason under which the same trouble is known once it
	// goes on; the kubelet goes back and forth between the two.
	outranked string
}

// steady writes the verdict into the entry, with the words of what was said of the
// container before where these say the same: so neither the status nor the Events follow
// the kubelet from one state of a back-off to the next.
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
		// Older kubelets say why only the first time.
		entry.Message = said
	case before.Reason == entry.Reason && v.outranked != crashLoop && sameWords(said, entry.Message):
		// A crash's only number is its exit code, which counts.
		entry.Message = said
	}
}

// pullFailure is why an image cannot be pulled, without the words of the
// back-off around it.
func pullFailure(message string) string {
	return backOffPulling.ReplaceAllString(message, "")
}

var (
	backOffPulling = regexp.MustCompile(`^Back-off pulling image "[^"]*"(: (` + errImagePull + `|` + registryUnavailable + `|` + signatureInvalid + `))?(: )?`)
	// number is a word without letters, a duration, or the ID of a container.
	number = regexp.MustCompile(`^[^\pL]*$|^[^\pL\d]*(\d+(\.\d+)?(ns|µs|ms|s|m|h))+[^\pL\d]*$|^[^\pL\d]*[0-9a-f]{12,}[^\pL\d]*$`)
)

// sameWords reports whether two messages differ in numbers at most: how many nodes
// there are, how long something took, from which port it was tried, in which
// container.
func sameWords(a, b string) bool {
	words := func(s string) []string {
		return slices.DeleteFunc(strings.Fields(s), number.MatchString)
	}
	return slices.Equal(words(a), words(b))
}
