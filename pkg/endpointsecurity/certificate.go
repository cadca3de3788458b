package endpointsecurity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
)

// minRSABits is the smallest RSA key that every Java runtime accepts by default.
const minRSABits = 2048

// certificates returns the certificates in the PEM value of a key; there is at least one.
// Other blocks are skipped, as OpenSSL does.
func certificates(secret map[string][]byte, key string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for rest := secret[key]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalid(key, "has a certificate that cannot be parsed, number %d", len(chain)+1)
		}
		chain = append(chain, certificate)
	}
	if len(chain) == 0 {
		return nil, missing(secret, key, "has no PEM certificate")
	}
	return chain, nil
}

// encode returns the certificates as PEM, which does not depend on the layout of the
// original PEM.
func encode(certificates []*x509.Certificate) string {
	var text strings.Builder
	for _, c := range certificates {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return text.String()
}

// privateKey returns the private key of the certificate, as PKCS #8 in Base64.
func privateKey(secret map[string][]byte, of *x509.Certificate) (string, error) {
	var block *pem.Block
	for rest := secret[KeyPrivateKey]; ; {
		if block, rest = pem.Decode(rest); block == nil || strings.HasSuffix(block.Type, "PRIVATE KEY") {
			break // openssl ecparam writes its parameters before the key
		}
	}
	if block == nil {
		return "", missing(secret, KeyPrivateKey, "has no PEM private key")
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return "", invalid(KeyPrivateKey, "is encrypted; decrypt it")
	}
	key, err := parseKey(block)
	if err != nil {
		return "", err
	}
	if public, ok := of.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(key.Public()) {
		return "", invalid(KeyPrivateKey, "is not the key of the first certificate of %s", KeyCertificate)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", invalid(KeyPrivateKey, "cannot be encoded")
	}
	return base64.StdEncoding.EncodeToString(der), nil
}

// parseKey parses a private key. It accepts only keys that all Java runtimes since version
// 8 can use for a TLS server.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		if rsaKey, rsaErr := x509.ParsePKCS1PrivateKey(block.Bytes); rsaErr == nil {
			parsed = rsaKey
		} else if ecKey, ecErr := x509.ParseECPrivateKey(block.Bytes); ecErr == nil {
			parsed = ecKey
		}
	}
	switch key := parsed.(type) {
	case *rsa.PrivateKey:
		if bits := key.N.BitLen(); bits < minRSABits {
			return nil, invalid(KeyPrivateKey, "is an RSA key of %d bits; use %d or more", bits, minRSABits)
		}
		return key, nil
	case *ecdsa.PrivateKey:
		if key.Curve == elliptic.P224() {
			return nil, invalid(KeyPrivateKey, "is on the curve P-224; use P-256")
		}
		return key, nil
	case nil:
		return nil, invalid(KeyPrivateKey, "cannot be parsed as PKCS #8, PKCS #1 or SEC 1")
	}
	return nil, invalid(KeyPrivateKey, "is neither RSA nor EC")
}
