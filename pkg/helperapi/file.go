package helperapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// ShortDigest is the number of digest characters in a file's name.
const ShortDigest = 12

// NewFile describes content to be staged, under a name of the form
// <prefix><digest><suffix>: "agent-" and ".jar", "exporter-" and ".jar", "config-" and
// ".yaml", "security-" and "jmx-attach-" without a suffix. See docs/agent-protocol.md.
func NewFile(prefix string, content []byte, suffix string) File {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return File{Name: FileName(prefix, digest, suffix), Size: int64(len(content)), SHA256: digest}
}

// FileName returns the name of the file whose content has this SHA-256.
func FileName(prefix, sha256, suffix string) string {
	return prefix + sha256[:min(len(sha256), ShortDigest)] + suffix
}

// FileDigest returns the digest prefix in a file's name: the 12 characters in
// agent-0123456789ab.jar. ok is false if the name has another form.
func FileDigest(name string) (digest string, ok bool) {
	for _, kind := range []struct{ prefix, suffix string }{
		{"jmx-attach-", ""}, {"agent-", ".jar"}, {"exporter-", ".jar"}, {"config-", ".yaml"}, {"security-", ""},
	} {
		rest, found := strings.CutPrefix(name, kind.prefix)
		digest, ended := strings.CutSuffix(rest, kind.suffix)
		if found && ended {
			return digest, len(digest) == ShortDigest && IsHex(digest)
		}
	}
	return "", false
}

// IsNamed reports whether a name is that of a staged file of one kind, so that a file
// staged as a configuration is never loaded as a jar.
func IsNamed(name, prefix, suffix string) bool {
	_, ok := FileDigest(name)
	return ok && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// IsHex reports whether a text consists of lower-case hexadecimal digits.
func IsHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// IsSHA256 reports whether a text is a SHA-256 in lower-case hexadecimal.
func IsSHA256(text string) bool { return len(text) == 64 && IsHex(text) }
