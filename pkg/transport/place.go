package transport

import "time"

// place is what a session holds of Limits.
type place struct {
	*Limits
	in    Container
	state state
	// timer stalls the session; nil once its container has responded, or it has ended.
	timer *time.Timer
}

// state is that of a session.
type state int

const (
	ended state = iota
	// fresh is a session whose container has just been asked to respond.
	fresh
	// stalled is one whose container is late.
	stalled
	// retrying is one whose container did not respond when last tried.
	retrying
	// responded is one whose container has.
	responded
	// probing is no session, but a request to an endpoint.
	probing
)

// stallAfter gives the place to others unless the container responds within d.
func (p *place) stallAfter(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	p.timer = time.AfterFunc(d, func() {
		p.change(func() {
			if p.timer != nil && p.state == fresh {
				p.move(stalled)
			}
		})
	})
}

// respond notes that the container has responded.
func (p *place) respond() {
	p.change(func() {
		p.stopTimer()
		if p.state != ended {
			p.move(responded)
		}
	})
}

// end ends the session, and notes whether its command is left in the container.
func (p *place) end(begun, ended bool) {
	if begun {
		p.leftovers.note(p.in, ended)
	}
	p.release()
}

// release ends the session, once.
func (p *place) release() {
	p.change(func() {
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
