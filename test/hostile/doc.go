// Package hostile tests what a container can do to the operator that attaches to it.
// Each container is a PID and mount namespace of its own on this machine; the script,
// the helper and the operator's side of the session are those that are shipped, with
// pipes between them in the place of the API server. TestAttach is the attachment in a
// container that is not hostile.
package hostile
