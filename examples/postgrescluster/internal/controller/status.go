package controller

import (
	"fmt"
	"slices"
	"strings"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
)

// setObserved sets the observed fields of the status. No position in the log is among them: it would
// be written for ever.
func (c *cluster) setObserved() {
	status, last := c.record, v1.PostgresClusterStatus{}
	if c.pass.Status.Last(&last) == nil { // or nothing can be written either
		status.Revision = nextRevision(&last, status)
	}
	streaming, wanted := c.streaming(), c.wanted()
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
		status.Version = strings.ToValidUTF8(p.Version[:min(len(p.Version), 64)], "")
	}
}
