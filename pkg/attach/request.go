package attach

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
)

// MaxRequest is the most bytes that the line of a Request may have.
const MaxRequest = 64 << 10

// ReadRequest reads the line of a Request and returns what follows it. Unknown
// keys are ignored, so that an older helper understands a newer operator.
func ReadRequest(r io.Reader) (Request, io.Reader, *Error) {
	buffered := bufio.NewReaderSize(r, MaxRequest)
	line, err := buffered.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Request{}, nil, failf(ReasonBadRequest, "The request's line cannot be read: %v.", err)
	}
	var req Request
	if err := json.Unmarshal(bytes.TrimSpace(line), &req); err != nil {
		return Request{}, nil, failf(ReasonBadRequest, "The request is not JSON: %v.", err)
	}
	return req, buffered, nil
}

// shortDigest is how many characters of its digest a file's name has.
const shortDigest = 12

// NewFile describes content to be staged, under a name of the form
// <prefix><digest><suffix>: "agent-" and ".jar", "exporter-" and ".jar",
// "config-" and ".yaml", "jmx-attach-" and nothing. See docs/agent-protocol.md.
func NewFile(prefix string, content []byte, suffix string) File {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return File{Name: FileName(prefix, digest, suffix), Size: int64(len(content)), SHA256: digest}
}

// FileName is the name of the file whose content has this SHA-256.
func FileName(prefix, sha256, suffix string) string {
	return prefix + sha256[:min(len(sha256), shortDigest)] + suffix
}
