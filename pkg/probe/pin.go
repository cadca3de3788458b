package probe

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/http"
)

// pinned returns a client that only speaks TLS with a server that holds the key of the
// given certificate. Here a pin is stronger than a name and a certificate authority: the
// operator itself staged this certificate, while all pods of an exporter share names,
// addresses are reused, and an authority signs for others, too. Without a pin, for a
// lost record that does not know the certificate, only the identity in the answer
// counts.
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
