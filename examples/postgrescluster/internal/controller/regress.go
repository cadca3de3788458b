package controller

import "banzaicloud.com/jmx-exporter-operator/pkg/statemachine"

// lost returns what no longer holds of the phase that the record has; nil if all does.
func (c *cluster) lost() *statemachine.Cause {
	return statemachine.Lost(
		statemachine.Check{Back: loseData, Lost: c.dataGone},
		statemachine.Check{Back: losePrimary, Lost: c.credentialsMissing},
		statemachine.Check{Back: losePrimary, Lost: c.primaryLost},
		statemachine.Check{Back: loseQuorum, Lost: c.quorumMissing},
		statemachine.Check{Back: loseServices, Lost: c.servicesChanged},
		statemachine.Check{Back: loseMember, Lost: c.incomplete},
		statemachine.Check{Back: loseMember, Lost: c.outdated})
}
