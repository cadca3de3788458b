//go:build linux

package helper

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// portTries limits how many selected ports one load tries. Another process may take a
// port between selection and bind, or hold it without listening; a conflict on every try
// is not a race.
const portTries = 8

// serveOnPort calls serve with the desired port or, if that is 0, with a selected one.
func (a *agentIn) serveOnPort(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
	if d.Port != 0 {
		return a.serve(ctx, d)
	}
	if err := a.look(ctx); err != nil {
		return false, err
	}
	var tried []int32
	for range portTries {
		if d.Port, err = a.port(d.Avoid, tried); err != nil {
			return loaded, err
		}
		var now bool
		now, err = a.serve(ctx, d)
		loaded = loaded || now
		if typed, ok := errors.AsType[*helperapi.Error](err); !ok || typed.Reason != helperapi.ReasonPortInUse {
			return loaded, err
		}
		tried = append(tried, d.Port)
	}
	return loaded, err
}

// port selects a port: the one that the agent has already, otherwise the lowest one that
// is free and not in avoid. It never returns one in tried.
func (a *agentIn) port(avoid, tried []int32) (int32, error) {
	if has := a.servedPort(); has > 0 && !slices.Contains(tried, has) {
		return has, nil
	}
	listening, err := jvm.ListeningPorts(a.process.PID)
	if err != nil {
		return 0, err
	}
	port, found := lowestPort(listening, avoid, tried)
	if !found {
		return 0, helperapi.Errorf(helperapi.ReasonPortInUse, "No port from %d upwards is free.", helperapi.FirstPort)
	}
	return port, nil
}

// servedPort returns the port that the agent serves, or the one in its desired file if
// its state is unknown; otherwise 0.
func (a *agentIn) servedPort() int32 {
	if a.says(helperapi.AgentRunning) {
		return a.mark.Port
	}
	if !a.unknown() {
		return 0
	}
	ordered, err := strconv.ParseUint(a.dir.ReadDesired(a.file).Get("port"), 10, 16)
	if err != nil {
		return 0
	}
	return int32(ordered)
}

// lowestPort returns the lowest port from FirstPort upwards that is in none of the lists.
func lowestPort(lists ...[]int32) (port int32, found bool) {
	taken := map[int32]bool{}
	for _, port := range slices.Concat(lists...) {
		taken[port] = true
	}
	for port := helperapi.FirstPort; port <= math.MaxUint16; port++ {
		if !taken[port] {
			return port, true
		}
	}
	return 0, false
}
