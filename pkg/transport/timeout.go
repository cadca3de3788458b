package transport

import (
	"errors"
	"time"
)

const (
	// stallTimeout is how long a container may take to print anything before its session
	// is stalled: a container whose runtime hangs keeps no place from others.
	stallTimeout = 500 * time.Millisecond
	// helloTimeout is how long the container may take to respond.
	helloTimeout = 5 * time.Second
	// installTimeout is how long the helper may take to arrive and to send its Hello.
	installTimeout = 30 * time.Second

	// callTimeout and stageTimeout are how long a call may take. The helper's own timeouts
	// are shorter (15 seconds, one minute for staging), since canceling a stream does not
	// end the process behind it.
	callTimeout  = 25 * time.Second
	stageTimeout = 75 * time.Second
)

// errNotResponding means that helloTimeout or installTimeout expired.
var errNotResponding = errors.New("the container does not respond")
