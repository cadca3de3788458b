// Package advice says what to do about a reason. What is wrong, and how to correct it, is
// in the message of the condition; advice adds whether the operator goes on by itself, and
// the command that has it go on otherwise.
package advice

import (
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Troubleshooting is the page with a section for each reason.
const Troubleshooting = "https://github.com/banzaicloud/jmx-exporter-operator/blob/main/docs/troubleshooting.md"

// notRunning is its section about the kubelet's reasons.
const notRunning = Troubleshooting + "#pods-that-do-not-run"

// Link returns the address of a reason's section; empty without a reason.
func Link(reason string) string {
	if reason == "" {
		return ""
	}
	return Troubleshooting + "#" + strings.ToLower(reason)
}

// NotRunning returns the address of the section about pods that do not run.
func NotRunning() string { return notRunning }

// Subject is what a reason is about.
type Subject struct {
	Namespace, Exporter, Pod string
}

func (s Subject) command(verb, name string) string {
	return fmt.Sprintf("kubectl jmx %s -n %s %s", verb, s.Namespace, name)
}

// nothing is the advice where the operator needs none.
const nothing = "nothing: "

// Next returns the next step of a person whose pod has this reason.
func (s Subject) Next(reason string) string {
	switch reason {
	case "":
		return ""
	case v1alpha1.ReasonSuspended:
		return s.command("resume", s.Exporter)
	case v1alpha1.ReasonRolloutHalted:
		return "see why the rollout is halted: " + s.command("status", s.Exporter)
	case v1alpha1.ReasonPreflight:
		return fmt.Sprintf("to attach: kubectl patch pjmx -n %s %s --type merge -p '{\"spec\":{\"mode\":\"Attach\"}}'", s.Namespace, s.Exporter)
	case v1alpha1.ReasonRestartedAfterAttach:
		return fmt.Sprintf("find out why it exited: kubectl logs -n %s --previous %s; then %s", s.Namespace, s.Pod, s.command("resume", s.Exporter))
	case v1alpha1.ReasonConfigRejected, v1alpha1.ReasonSecurityRejected, v1alpha1.ReasonRuleTooExpensive:
		return "correct the configuration as the message says; the rollout then continues"
	}
	return s.ofClass(reason)
}

func (s Subject) ofClass(reason string) string {
	switch v1alpha1.ClassOf(reason) {
	case v1alpha1.ClassPassing, v1alpha1.ClassAwaited:
		return nothing + "the operator continues"
	case v1alpha1.ClassAwaitsPod:
		return nothing + "the operator continues when the pod changes"
	case v1alpha1.ClassFailing:
		return "if it lasts, do what the message says; the operator retries with backoff. At once: " + s.command("retry", s.Pod)
	case v1alpha1.ClassMended:
		return "do what the message says; the operator continues with that change"
	case v1alpha1.ClassRefused:
		return "do what the message says; then " + s.command("retry", s.Pod)
	}
	if reason == v1alpha1.ReasonNotReached {
		return nothing + "an earlier phase comes first"
	}
	return "do what the message says"
}
