package transport

import "syscall"

// socket is a socket as package syscall names it. kubectl jmx runs on Windows, too.
type socket = syscall.Handle
