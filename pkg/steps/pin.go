package steps

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
)

// pinned is a client that speaks TLS with who holds the key of one certificate, and with
// nobody else. A pin is stronger here than a name and an authority: it is the certificate
// that the operator itself brought into the container, while names are the same in all
// pods of an exporter, addresses are reused, and an authority signs for others, too. Without a pin, as in a record
// that was lost and does not know the certificate, only the identity in the answer counts.
func pinned(client *http.Client, certificateSHA256 string) *http.Client {
	transport := client.Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies
		VerifyConnection: func(state tls.ConnectionState) error {
			served := sha256.Sum256(state.PeerCertificates[0].Raw)
			if digest := hex.EncodeToString(served[:]); certificateSHA256 != "" && digest != certificateSHA256 {
				return fmt.Errorf("%w: the SHA-256 of its certificate is %s, not %s", ErrForeign, digest, certificateSHA256)
			}
			return nil
		},
	}
	pinned := *client
	pinned.Transport = transport
	return &pinned
}
