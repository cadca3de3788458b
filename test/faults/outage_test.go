package faults

import (
	"io"
	"net/http"
	"sync"
)

// outage is what the API server does to all requests of an operator, until it is mended.
type outage struct {
	// status is its answer; 0 if it performs what it is asked to.
	status int
	// unreachable means that connections are cut, and new ones get no answer.
	unreachable bool
	// silent means that watches report nothing.
	silent bool
	// expired means that watches that begin are asked to list first, once for each resource.
	expired bool
}

// gate stops what passes until it is opened.
type gate struct {
	mu     sync.Mutex
	closed chan struct{}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// pass returns once the gate is open, or done is closed.
func (g *gate) pass(done <-chan struct{}) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-done:
	}
}

// gated is the body of a watch, whose events wait at the gate.
type gated struct {
	io.ReadCloser
	gate *gate
	done <-chan struct{}
}

// Read implements io.Reader.
func (g gated) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	g.gate.pass(g.done)
	return n, err
}

// answered puts the gate into the body of a watch, and notes what an answer says of quotas.
func (p *proxy) answered(response *http.Response) error {
	switch r := response.Request; {
	case isWatch(r) && response.StatusCode == http.StatusOK:
		response.Body = gated{response.Body, &p.watches, r.Context().Done()}
	case isWrite(r):
		return p.noteQuota(response)
	}
	return nil
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// fail begins an outage.
func (p *proxy) fail(o outage) {
	p.mu.Lock()
	p.outage, p.relisted = o, map[string]bool{}
	p.mu.Unlock()
	if o.silent {
		p.watches.close()
	}
	if o.unreachable || o.expired {
		p.links.cut(reset) // execs are among them
	}
}

// mend ends an outage.
func (p *proxy) mend() {
	p.mu.Lock()
	p.outage = outage{}
	p.mu.Unlock()
	p.watches.open()
}

// fails reports whether a request meets the outage, which it then has answered.
func (p *proxy) fails(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	o := p.outage
	first := o.expired && isWatch(r) && !p.relisted[r.URL.Path]
	if first {
		p.relisted[r.URL.Path] = true
	}
	p.mu.Unlock()
	switch {
	case o.unreachable:
		panic(http.ErrAbortHandler) // ends the connection
	case first:
		refuse(w, http.StatusGone)
	case o.status != 0:
		refuse(w, o.status)
	default:
		return false
	}
	return true
}
