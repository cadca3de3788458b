package steps

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// preflight returns the result of a preflight for a JVM that was found: what would
// prevent loading an agent, according to the inspection, or that nothing would.
func (j *JVM) preflight() statemachine.Outcome {
	if shortage := j.shortage(); shortage != nil {
		return *shortage
	}
	message := "The exporter is in mode Preflight (spec.mode); nothing is attached."
	if j.Process.LoadWarns && !j.Process.Adopted {
		message += " A load makes the JVM write the four warning lines of JEP 451 to the application's standard error."
	}
	return record.NotDone(v1alpha1.ReasonPreflight, message)
}

// memoryStep is the unit to which free memory is rounded down in a record: it changes
// constantly, and each change would be a write.
const memoryStep = 8 << 20

// freeMemory returns the memory that an inspection found free below the limit; nil
// without a limit.
func freeMemory(found *helperapi.Memory) *resource.Quantity {
	if found == nil {
		return nil
	}
	return resource.NewQuantity(max(found.Free, 0)/memoryStep*memoryStep, resource.BinarySI)
}

// shortage returns an Outcome if there was too little memory for a first load and its
// files; nil if there was enough, the check is disabled, or nothing is to be loaded.
// Only another inspection, or another spec.memoryHeadroom, changes the result: nothing
// is tried meanwhile.
func (j *JVM) shortage() *statemachine.Outcome {
	p, headroom := j.Process, memoryHeadroom(j.Exporter)
	if headroom <= 0 || p.FreeMemory == nil || p.Adopted || record.MayHaveAgent(p) {
		return nil
	}
	need := headroom + 2*(j.Artifacts.Agent.Size+j.Artifacts.Implementation.Size+j.Config.Size)
	if p.FreeMemory.Value() >= need {
		return nil
	}
	const mib = 1 << 20
	return &statemachine.Outcome{Kind: statemachine.Broken, Reason: v1alpha1.ReasonInsufficientMemory, Message: fmt.Sprintf(
		"The first load of the agent, with its files, needs %d MiB free below the memory limit; about %s were free when the container was inspected. Raise the limit, lower the application's use (-Xmx), or lower spec.memoryHeadroom.",
		(need+mib-1)/mib, p.FreeMemory)}
}

// transient reports whether an inspection must leave nothing in a container: nothing may
// be attached, and nothing is.
func (s *Situation) transient(name string) bool {
	return s.Exporter.Spec.Mode == v1alpha1.ModePreflight && s.Find(func(p *v1alpha1.JavaProcess) bool {
		return p.Container == name && (record.MayHaveAgent(p) || p.Staged != nil)
	}) == nil
}

// untouched reports whether the process and its container have nothing of the operator:
// the inspection left nothing, and nothing else was ever granted to the pod.
func (j *JVM) untouched() bool {
	p := j.Process
	return j.Attachment.Spec.Revision == "" && j.Status().Revision == "" && !record.MayHaveAgent(p) && p.Staged == nil &&
		slices.ContainsFunc(j.Status().Containers, func(c v1alpha1.InspectedContainer) bool {
			return c.Name == p.Container && c.ContainerID == p.ContainerID && c.HelperRemoved
		})
}
