package transport

import (
	"fmt"
	"net/url"
	"strings"
)

// Purpose is the most that a session may do, as known when it is opened.
type Purpose string

const (
	// PurposeInspect only inspects: it neither loads nor stops an agent.
	PurposeInspect Purpose = "inspect"
	// PurposeAttach may load the agent into a JVM, or reconfigure a loaded one.
	PurposeAttach Purpose = "attach"
	// PurposeDetach stops the agents.
	PurposeDetach Purpose = "detach"
)

// Origin identifies on whose behalf a session is opened. The zero Origin means unknown.
type Origin struct {
	// Namespace and Exporter name the exporter.
	Namespace, Exporter string
	// Requester is the user who last wrote the exporter's spec; empty if unknown.
	Requester string
	Purpose   Purpose
}

// userAgent returns the User-Agent of an exec, which the API server's audit log records:
// base, and the origin as a comment (RFC 9110). A name can neither end its field nor
// begin another one.
func (o Origin) userAgent(base string) string {
	var fields []string
	if o.Exporter != "" {
		fields = append(fields, fmt.Sprintf("exporter=%s/%s", escape(o.Namespace), escape(o.Exporter)))
	}
	if o.Requester != "" {
		fields = append(fields, "requester="+escape(o.Requester))
	}
	if o.Purpose != "" {
		fields = append(fields, "verb="+escape(string(o.Purpose)))
	}
	if len(fields) == 0 {
		return base
	}
	return fmt.Sprintf("%s (%s)", base, strings.Join(fields, "; "))
}

// escape returns s percent-encoded and of bounded length, since the API server truncates
// a User-Agent to 1024 bytes.
func escape(s string) string {
	const longest = 256
	escaped := url.PathEscape(s)
	if len(escaped) <= longest {
		return escaped
	}
	escaped = escaped[:longest]
	if i := strings.LastIndexByte(escaped, '%'); i > longest-3 { // do not split an escape sequence
		escaped = escaped[:i]
	}
	return escaped + "..."
}
