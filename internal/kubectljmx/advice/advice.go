// Package advice says what to do about a reason. What is wrong, and how to correct it, is
// in the message of the condition; advice adds whether the operator continues by itself,
// and the command to continue otherwise.
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

const (
	// nothing begins the advice where the operator needs none.
	nothing = "nothing: "
	// followMessage is the advice where the message says all.
	followMessage = "do what the message says"
)

// CheckOperator is the advice where no operator has done anything.
const CheckOperator = "check that the operator runs, and watches this namespace: kubectl get deployments -A -l app.kubernetes.io/name=jmx-exporter-operator"

// NotProcessed is the reason where no operator has seen an object yet. It is of no condition,
// since nobody wrote one.
const NotProcessed = "NotProcessed"

// Next returns the next step of a person whose pod has this reason.
func (s Subject) Next(reason string) string {
	switch reason {
	case "":
		return ""
	case v1alpha1.ReasonSuspended:
		return s.command("resume", s.Exporter)
	case v1alpha1.ReasonRolloutHalted:
		return "see why the rollout is halted: " + s.command("status", s.Exporter)
	case v1alpha1.ReasonRolloutPaused:
		return nothing + "the rollout continues within spec.rollout.restartWindow, unless another pod exits; " + s.command("status", s.Exporter) + " says which one did"
	case v1alpha1.ReasonCPU, v1alpha1.ReasonDuration, v1alpha1.ReasonAllocation, v1alpha1.ReasonHighCost, v1alpha1.ReasonPodsExpensive:
		if s.Pod != "" {
			return "see what each rule costs: " + s.command("top", s.Pod)
		}
		return "see what each rule costs: " + s.command("top", "--exporter "+s.Exporter)
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
		next := "if it lasts, do what the message says; the operator retries with backoff"
		if s.Pod != "" {
			next += ". At once: " + s.command("retry", s.Pod)
		}
		return next
	case v1alpha1.ClassMended:
		return "do what the message says; the operator continues with that change"
	case v1alpha1.ClassRefused:
		if s.Pod != "" {
			return followMessage + "; then " + s.command("retry", s.Pod)
		}
	}
	return followMessage
}
