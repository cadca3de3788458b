package controller

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// stateWithoutPrimary returns what a promotion depends on of a member: as soon as it differs, the
// next one is tried. With a primary it differs all the time, and nothing depends on it.
func (c *cluster) stateWithoutPrimary(name string) string {
	if c.primary() != nil {
		return ""
	}
	state := ""
	if refused := c.refusals[name]; refused != nil {
		state = refused.Code
	}
	if s := c.servers[name]; s != nil {
		state += fmt.Sprint(s.InRecovery, s.promotion())
		if c.record.Announced != nil {
			state += fmt.Sprint(s.Upstream != "", s.Receiving, s.Waiting, s.SynchronousStandbyNames)
		}
	}
	return state
}

// key identifies what an attempt depends on.
func (c *cluster) key() string {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%s %t %v %t", c.record.Primary, c.password != "", c.streaming(), c.primaryBusy())
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		_, _ = fmt.Fprint(sum, name, c.pods[name].UID, c.pods[name].Status.Phase, c.servers[name] != nil, c.stateWithoutPrimary(name))
	}
	if c.kept != nil {
		_, _ = fmt.Fprint(sum, c.kept.Reason)
	}
	foreign := "none"
	if o := c.foreign(); o != nil {
		foreign = string(o.GetUID())
	}
	if c.adopts() {
		for _, name := range slices.Sorted(maps.Keys(c.claims)) {
			_, _ = fmt.Fprint(sum, name, c.claims[name].UID, c.claims[name].Annotations[annotationRecord])
		}
	}
	return fmt.Sprintf("generation %d, members %x, foreign %s", c.object.Generation, sum.Sum64(), foreign)
}
