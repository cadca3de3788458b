package endpointsecurity

import (
	"bytes"
	"fmt"
)

// The keys of a Secret.
const (
	KeyCertificate  = "tls.crt"
	KeyPrivateKey   = "tls.key"
	KeyClientCA     = "client-ca.crt"
	KeyUsername     = "username"
	KeyPasswordHash = "passwordHash"
	KeySalt         = "salt"
	KeySaltText     = "saltText"
	KeyAlgorithm    = "algorithm"
	KeyIterations   = "iterations"
)

// Error names the key of a Secret that cannot be used, and why. It quotes nothing from the
// Secret except dates and numbers.
type Error struct{ Key, Problem string }

// Error returns the key and its problem.
func (e *Error) Error() string { return fmt.Sprintf("key %s %s", e.Key, e.Problem) }

func invalid(key, format string, args ...any) *Error {
	return &Error{Key: key, Problem: fmt.Sprintf(format, args...)}
}

func missing(secret map[string][]byte, key, problem string) *Error {
	if _, ok := secret[key]; !ok {
		problem = "is missing"
	}
	return invalid(key, "%s", problem)
}

// text returns a value without the newlines at its end, which editors add.
func text(secret map[string][]byte, key string) string {
	return string(bytes.TrimRight(secret[key], "\r\n"))
}
