// Package endpointsecurity converts a Secret into the file that secures an agent's
// endpoint, which docs/endpoint-security.md describes.
package endpointsecurity

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"
)

// File is the content of a security file.
type File struct {
	Content []byte
	// CertificateSHA256 is the SHA-256 of the server certificate's DER form, in hex.
	CertificateSHA256 string
	// CertificateNotAfter is the end of its validity.
	CertificateNotAfter time.Time
}

// Parse validates the content of a Secret and encodes it as a File. The same content
// always results in the same file. The error is an *Error.
func Parse(secret map[string][]byte, now time.Time) (File, error) {
	chain, err := certificates(secret, KeyCertificate)
	if err != nil {
		return File{}, err
	}
	key, err := privateKey(secret, chain[0])
	if err != nil {
		return File{}, err
	}
	end := chain[0].NotAfter
	if now.After(end) {
		return File{}, invalid(KeyCertificate, "expired on %s", end.UTC().Format(time.RFC3339))
	}
	pairs := url.Values{"certificate": {encode(chain)}, "key": {key}}
	if _, ok := secret[KeyClientCA]; ok {
		authorities, err := certificates(secret, KeyClientCA)
		if err != nil {
			return File{}, err
		}
		pairs.Set("clientCA", encode(authorities))
	}
	if err := addPassword(pairs, secret); err != nil {
		return File{}, err
	}
	sum := sha256.Sum256(chain[0].Raw)
	return File{Content: []byte(pairs.Encode()), CertificateSHA256: hex.EncodeToString(sum[:]), CertificateNotAfter: end}, nil
}
