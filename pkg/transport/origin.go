package transport

import (
	"fmt"
	"net/url"
	"strings"
)

// Purpose is the most that a session may come to, known when it is opened.
type Purpose string

const (
	// PurposeInspect only looks: nothing is loaded or stopped.
	PurposeInspect Purpose = "inspect"
	// PurposeAttach may load the agent into a JVM, or reconfigure one that is loaded.
	PurposeAttach Purpose = "attach"
	// PurposeDetach stops the agents.
	PurposeDetach Purpose = "detach"
)

// Origin is on whose behalf a session is opened. The zero Origin is unknown.
type Origin struct {
	// Namespace and Exporter name the exporter.
	Namespace, Exporter string
	// Requester is the user who wrote the exporter's spec last; empty if unknown.
	Requester string
	Purpose   Purpose
}

// userAgent is what the API server's audit log has of an exec: base, and the origin as a
// comment of RFC 9110. A name can neither end its field nor begin another one.
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

// escape returns s in percent-encoding, of bounded length: the API server cuts a
// User-Agent after 1024 bytes.
func escape(s string) string {
	const longest = 256
	escaped := url.PathEscape(s)
	if len(escaped) <= longest {
		return escaped
	}
	escaped = escaped[:longest]
	if i := strings.LastIndexByte(escaped, '%'); i > longest-3 { // no half of a character
		escaped = escaped[:i]
	}
	return escaped + "..."
}
