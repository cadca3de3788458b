package faults

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
)

// ending is how a connection ends.
type ending string

const (
	// finished is an orderly end: FIN.
	finished ending = "FIN"
	// reset is an abort: RST.
	reset ending = "RST"
	// silent is a connection on which nothing arrives any more, as behind a firewall that
	// has forgotten it.
	silent ending = "silence"
)

// direction is the direction of a stream, as the operator sees it.
type direction int

const (
	sent direction = iota
	received
)

// meter counts the payload of all execs of a plan, and cuts one of them.
type meter struct {
	mu    sync.Mutex
	total [2]int64
	// cut is where to cut; nil for nowhere, and once it has happened.
	cut *cut
}

// cut is a place in all that is sent or received by execs, in bytes.
type cut struct {
	direction direction
	at        int64
	how       ending
}

// take returns how many bytes of p may pass in a direction, and how the connection ends
// after them; empty if it does not.
func (m *meter) take(f *frames, d direction, p []byte) (n int, how ending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit := int64(-1)
	if m.cut != nil && m.cut.direction == d {
		limit = m.cut.at - m.total[d]
	}
	n, payload := f.upTo(p, limit)
	m.total[d] += payload
	if limit > 0 && payload == limit {
		how, m.cut = m.cut.how, nil
	}
	return n, how
}

// happened reports whether the cut has happened.
func (m *meter) happened() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cut == nil
}

// totals returns how much was sent and received.
func (m *meter) totals() [2]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}

// link is a connection of an operator to the proxy. Once it is metered, it is cut where the
// meter says.
type link struct {
	net.Conn
	mu     sync.Mutex
	meter  *meter
	frames [2]frames
	// begun is true once the answer's header has been written, after which frames follow.
	begun bool
	// ended is how the link was cut, and over is closed then and when it is closed.
	ended ending
	over  chan struct{}
	once  sync.Once
	// closed is called when it is closed.
	closed func(*link)
}

var errCut = errors.New("the connection is cut")

// measure counts what passes from now on, after the header of the next answer.
func (l *link) measure(m *meter, spdy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meter, l.frames = m, [2]frames{{spdy: spdy}, {spdy: spdy}}
}

func (l *link) state() (m *meter, ended ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter, l.ended
}

// Read implements net.Conn.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	m, ended := l.state()
	if ended != "" {
		return l.afterwards(0)
	}
	if m == nil || n == 0 {
		return n, err
	}
	passed, how := m.take(&l.frames[sent], sent, p[:n])
	if how != "" {
		l.end(how)
		return passed, nil
	}
	return n, err
}

// Write implements net.Conn.
func (l *link) Write(p []byte) (int, error) {
	m, ended := l.state()
	if ended != "" {
		return l.afterwards(len(p))
	}
	if m == nil {
		return l.Conn.Write(p)
	}
	header := 0
	if !l.begun {
		end := bytes.Index(p, []byte("\r\n\r\n"))
		if end < 0 {
			return l.Conn.Write(p)
		}
		l.begun, header = true, end+4
	}
	passed, how := m.take(&l.frames[received], received, p[header:])
	n, err := l.Conn.Write(p[:header+passed])
	if how != "" && err == nil {
		l.end(how)
		return l.afterwards(len(p))
	}
	return n, err
}

// afterwards is the outcome of reads and writes of n bytes on a link that is cut. The side
// of the API server notices, unless the link is silent: then it hears nothing.
func (l *link) afterwards(n int) (int, error) {
	if _, how := l.state(); how != silent {
		return 0, errCut
	}
	if n > 0 {
		return n, nil
	}
	<-l.over
	return 0, io.EOF
}

func (l *link) end(how ending) {
	l.mu.Lock()
	l.ended = how
	l.mu.Unlock()
	tcp := l.Conn.(*net.TCPConn)
	switch how {
	case finished: // what the operator still sends is read, or its kernel would be answered with RST
		_ = tcp.CloseWrite()
		go func() {
			_, _ = io.Copy(io.Discard, tcp)
			tcp.Close()
		}()
	case reset:
		_ = tcp.SetLinger(0)
		tcp.Close()
	case silent:
	}
}

// Close implements net.Conn.
func (l *link) Close() error {
	l.once.Do(func() { close(l.over); l.closed(l) })
	if _, how := l.state(); how == finished {
		return nil
	}
	return l.Conn.Close()
}

// listener makes links of connections, and knows those that are open.
type listener struct {
	net.Listener
	mu   sync.Mutex
	open map[*link]bool
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	accepted := &link{Conn: conn, over: make(chan struct{}), closed: l.forget}
	l.open[accepted] = true
	return accepted, nil
}

func (l *listener) forget(closed *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, closed)
}

// cut ends all links.
func (l *listener) cut(how ending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for open := range l.open {
		if _, ended := open.state(); ended == "" {
			open.end(how)
		}
	}
}
