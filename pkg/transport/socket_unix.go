//go:build unix

package transport

// socket is a socket as package syscall names it.
type socket = int
