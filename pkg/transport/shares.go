package transport

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

const (
	// waitingPerPlace is how many sessions for each place may wait for the first response
	// of their containers: enough that containers that hang leave room for others.
	waitingPerPlace = 2
	// SessionsPerPlace is the maximum number of sessions for each place, waiting or
	// working.
	SessionsPerPlace = waitingPerPlace + 1
	// WorkersPerPlace is the maximum number of sessions and probes for each place.
	WorkersPerPlace = SessionsPerPlace + 1
)

// share is a set of sessions with a limit: all sessions, those on a node, those in a
// namespace, or those of a namespace on a node.
type share struct {
	kind            kind
	node, namespace string
}

type kind int

const (
	all kind = iota
	onNode
	ofNamespace
	ofNamespaceOnNode
	kinds
)

func sharesOf(in Container) [kinds]share {
	return [kinds]share{{}, {kind: onNode, node: in.Node}, {kind: ofNamespace, namespace: in.Namespace}, {ofNamespaceOnNode, in.Node, in.Namespace}}
}

// shares counts the sessions and probes of each share, by state. It is not safe for
// concurrent use.
type shares struct {
	places [kinds]int
	taken  map[state]map[share]int
}

// fit reports whether all shares of a container have room for a session or probe in its
// first state. responds is whether the container responded when last tried.
func (s shares) fit(first state, responds bool, in Container) bool {
	for _, of := range sharesOf(in) {
		if !s.fits(first, responds, of) {
			return false
		}
	}
	return true
}

// fits reports whether one share has room.
func (s shares) fits(first state, responds bool, of share) bool {
	places, again := s.places[of.kind], s.taken[retrying][of]
	if first == probing {
		return s.taken[probing][of] < places
	}
	late := s.taken[stalled][of] + again
	waiting, working := s.taken[fresh][of]+late, s.taken[fresh][of]+s.taken[responded][of]
	switch {
	case working+late >= SessionsPerPlace*places, !responds && waiting >= waitingPerPlace*places:
		return false
	case first == retrying:
		return 2*again < places
	default:
		return working < places
	}
}

// count adds n sessions or probes in a container. Those that have ended are not counted.
func (s shares) count(in Container, st state, n int) {
	if st == ended {
		return
	}
	taken := s.taken[st]
	for _, of := range sharesOf(in) {
		if taken[of] += n; taken[of] == 0 {
			delete(taken, of)
		}
	}
}
