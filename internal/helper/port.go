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

// portTries bounds how many chosen ports one load offers to an agent. Somebody
// else may take a port between the look and the bind, or hold it without
// listening; that this happens again and again is no race any more.
const portTries = 8

// serveOnPort is serve for the port that is desired or, where that is 0, for one
// that the agent gets.
func (a *agent) serveOnPort(ctx context.Context, d helperapi.Desired) (loaded bool, err error) {
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

// port is what an agent gets that may serve anywhere: the port it has, or the
// lowest one that is free and not to be avoided. Those tried are not tried again.
func (a *agent) port(avoid, tried []int32) (int32, error) {
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

// servedPort is the port that the agent serves, or serves by now, after its last
// order; 0 if neither.
func (a *agent) servedPort() int32 {
	if a.says(helperapi.AgentRunning) {
		return a.mark.Port
	}
	if !a.unknown() {
		return 0
	}
	ordered, err := strconv.ParseUint(a.dir.readPairs(a.file).Get("port"), 10, 16)
	if err != nil {
		return 0
	}
	return int32(ordered)
}

// lowestPort is the lowest port from FirstPort upwards that is in none of the
// lists.
func lowestPort(lists ...[]int32) (port int32, found bool) {
	taken := map[int32]bool{}
	for _, list := range lists {
		for _, port := range list {
			taken[port] = true
		}
	}
	for port := helperapi.FirstPort; port <= math.MaxUint16; port++ {
		if !taken[port] {
			return port, true
		}
	}
	return 0, false
}
