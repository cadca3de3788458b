package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// status is what is to be persisted. No position in the log is in it: it would be written
// for ever.
func (c *cluster) status(now metav1.Time) *v1.PostgresClusterStatus {
	status := c.record.DeepCopy()
	status.ObservedGeneration = c.object.Generation
	status.Revision = nextRevision(&c.object.Status, c.record)
	status.Phase, status.Reason, status.Message = string(c.state.Phase), c.state.Reason, c.state.Message
	status.Attempt = nil
	if a := c.state.Attempt; a != nil {
		status.Attempt = &v1.Attempt{Key: a.Key, Phase: string(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime}
	}
	streaming := c.streaming()
	wanted := c.wanted()
	replicating := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return !slices.Contains(streaming, name) })
	status.Members = fmt.Sprintf("%d/%d", len(replicating), len(wanted))
	status.Replicas = 0
	for _, pod := range c.pods {
		if c.owns(pod) {
			status.Replicas++
		}
	}
	status.Selector = labelsOf(c.object.Name).String()
	if p := c.primary(); p != nil {
		status.Version = cut(p.Version)[:min(len(p.Version), 64)]
	}
	conditions := Plan.Conditions(c.state, kindOf, held,
		statemachine.Held{Reason: "Progressing", Message: "This is the next phase."},
		statemachine.Held{Reason: "Waiting", Message: "An earlier phase does not hold yet."})
	ready := conditions[0]
	for _, condition := range conditions { // up to Serving: the first that does not hold says why
		ready = condition
		if condition.Status != metav1.ConditionTrue || condition.Type == string(Serving) {
			break
		}
	}
	ready.Type = "Ready"
	statemachine.SetConditions(&status.Conditions, c.object.Generation, now, append(conditions, ready)...)
	return status
}

// cut is a message as the status takes it.
func cut(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), 1024)], "")
}

// configuration turns an API value into its apply configuration, which has the same
// JSON: fields that the value omits are not stated, hence not owned.
func configuration[T any](value any) (*T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	ac := new(T)
	return ac, json.Unmarshal(data, ac)
}
