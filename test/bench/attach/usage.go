//go:build linux

package main

import "time"

// usage is CPU time by who used it.
type usage struct {
	// jvms are the applications, container what else ran in their containers.
	jvms, container time.Duration
	// containerd is the rest of the node: containerd, its shims, runc.
	containerd, kubelet, controlPlane time.Duration
	// attacher is who attaches: the operator's pod and its node agent, kubectl, or the program
	// in the node.
	attacher time.Duration
}

// outside is what is not the JVMs'.
func (u usage) outside() time.Duration {
	return u.container + u.containerd + u.kubelet + u.controlPlane + u.attacher
}

// A reading is the state of all clocks at a time.
type reading struct {
	at   time.Time
	used usage
}

// read sums up what two nodes have spent, and the commands that have ended here.
func read(worker, controlPlane Spent, commands time.Duration) reading {
	return reading{worker.At, usage{
		jvms:         worker.Java,
		container:    worker.Applications - worker.Java,
		containerd:   worker.Node - worker.Pods - worker.Kubelet - worker.Self,
		kubelet:      worker.Kubelet,
		controlPlane: controlPlane.Node - controlPlane.Self,
		attacher:     worker.Operator + worker.Self + commands,
	}}
}

// rate is how many cores each uses.
type rate struct{ jvms, container, containerd, kubelet, controlPlane, attacher float64 }

// lower is the lower one of each: after pods have started, what they started with
// goes on for a while.
func (r rate) lower(o rate) rate {
	return rate{min(r.jvms, o.jvms), min(r.container, o.container), min(r.containerd, o.containerd), min(r.kubelet, o.kubelet), min(r.controlPlane, o.controlPlane), min(r.attacher, o.attacher)}
}

// rate is what was used since an earlier reading.
func (r reading) rate(before reading) rate {
	u, t := r.minus(before, rate{}), r.at.Sub(before.at).Seconds()
	return rate{u.jvms.Seconds() / t, u.container.Seconds() / t, u.containerd.Seconds() / t, u.kubelet.Seconds() / t, u.controlPlane.Seconds() / t, u.attacher.Seconds() / t}
}

// minus is what was used since an earlier reading, beyond what is used when idle.
func (r reading) minus(before reading, idle rate) usage {
	elapsed := r.at.Sub(before.at)
	beyond := func(after, before time.Duration, cores float64) time.Duration {
		return max(0, after-before-time.Duration(cores*float64(elapsed)))
	}
	a, b := r.used, before.used
	return usage{
		jvms:         beyond(a.jvms, b.jvms, idle.jvms),
		container:    beyond(a.container, b.container, idle.container),
		containerd:   beyond(a.containerd, b.containerd, idle.containerd),
		kubelet:      beyond(a.kubelet, b.kubelet, idle.kubelet),
		controlPlane: beyond(a.controlPlane, b.controlPlane, idle.controlPlane),
		attacher:     beyond(a.attacher, b.attacher, idle.attacher),
	}
}
