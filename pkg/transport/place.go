package transport

import "time"

// place is the place in Limits that a session or probe holds.
type place struct {
	*Limits
	in    Container
	state state
	// timer marks the session as stalled; nil once its container has responded, or the
	// session has ended.
	timer *time.Timer
}

// state is the state of a session or probe.
type state int

const (
	ended state = iota
	// fresh is a session whose container has not responded yet, and is in time.
	fresh
	// stalled is a session whose container is late to respond.
	stalled
	// retrying is a session whose container did not respond when last tried.
	retrying
	// responded is a session whose container has responded.
	responded
	// probing is a request to an endpoint, not a session.
	probing
)

// stallAfter gives the place to others unless the container responds within d.
func (p *place) stallAfter(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	p.timer = time.AfterFunc(d, func() {
		p.update(func() {
			if p.timer != nil && p.state == fresh {
				p.move(stalled)
			}
		})
	})
}

// respond records that the container has responded.
func (p *place) respond() {
	p.update(func() {
		p.stopTimer()
		if p.state != ended {
			p.move(responded)
		}
	})
}

// end ends the session. If its command had begun, it records whether the command ended or
// is left in the container.
func (p *place) end(begun, ended bool) {
	if begun {
		p.leftovers.note(p.in, ended)
	}
	p.release()
}

// release ends the session or probe. Further calls have no effect.
func (p *place) release() {
	p.update(func() {
		p.stopTimer()
		p.move(ended)
	})
}

func (p *place) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *place) move(to state) {
	p.count(-1)
	p.state = to
	p.count(1)
}

func (p *place) count(n int) {
	if p.state == ended {
		return
	}
	taken := p.taken[p.state]
	for _, s := range sharesOf(p.in) {
		if taken[s] += n; taken[s] == 0 {
			delete(taken, s)
		}
	}
}
