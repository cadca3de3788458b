package endpointsecurity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"maps"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var today = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// certificate returns a self-signed certificate for key, as PEM and DER.
func certificate(t *testing.T, key crypto.Signer, end time.Time) (text, der []byte) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "metrics"}, NotBefore: today.Add(-time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der, nil), der
}

func block(kind string, der []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pkcs8(key crypto.PrivateKey) []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return block("PRIVATE KEY", der, err)
}

func sec1(key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalECPrivateKey(key)
	return block("EC PRIVATE KEY", der, err)
}

func TestKeysAreAccepted(t *testing.T) {
	ec, long := ecKey(t, elliptic.P256()), rsaKey(t, 2048)
	for name, tc := range map[string]struct {
		key  crypto.Signer
		text []byte
	}{
		"EC, PKCS #8":              {ec, pkcs8(ec)},
		"EC, SEC 1":                {ec, sec1(ec)},
		"EC, SEC 1, parameters":    {ec, append(block("EC PARAMETERS", []byte{6, 1, 1}, nil), sec1(ec)...)},
		"RSA, PKCS #8":             {long, pkcs8(long)},
		"RSA, PKCS #1":             {long, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(long), nil)},
		"RSA, with a leading text": {long, append([]byte("my key\n"), pkcs8(long)...)},
	} {
		text, der := certificate(t, tc.key, today.Add(time.Hour))
		file, err := Parse(map[string][]byte{KeyCertificate: text, KeyPrivateKey: tc.text, "ca.crt": []byte("any")}, today)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		der8, _ := x509.MarshalPKCS8PrivateKey(tc.key)
		pairs, err := url.ParseQuery(string(file.Content))
		want := url.Values{"certificate": {string(text)}, "key": {base64.StdEncoding.EncodeToString(der8)}}
		if diff := cmp.Diff(want, pairs); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		if sum := sha256.Sum256(der); file.CertificateSHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the certificate's digest is %s", name, file.CertificateSHA256)
		}
	}
}

// The layout of a Secret's values does not change the file.
func TestFileIsTheSame(t *testing.T) {
	key := ecKey(t, elliptic.P256())
	text, _ := certificate(t, key, today.Add(time.Hour))
	secret := map[string][]byte{
		KeyCertificate: append(text, text...), KeyPrivateKey: pkcs8(key), KeyClientCA: text,
		KeyUsername: []byte("Prom & Co"), KeyPasswordHash: []byte("AbCd"), KeySalt: []byte("98765432"),
		KeyAlgorithm: []byte("PBKDF2WithHmacSHA256"), KeyIterations: []byte("1000"),
	}
	file, err := Parse(secret, today)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := url.ParseQuery(string(file.Content))
	want := url.Values{
		"certificate": {string(text) + string(text)}, "key": pairs["key"], "clientCA": {string(text)},
		"username": {"Prom & Co"}, "passwordHash": {"abcd"}, "salt": {"98765432"}, "algorithm": {"PBKDF2WithHmacSHA256"}, "iterations": {"1000"},
	}
	if diff := cmp.Diff(want, pairs); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if bytes.ContainsAny(file.Content, "\r\n ") {
		t.Error("the file has more than one line")
	}
	for name, secret := range map[string]map[string][]byte{
		"newlines at the ends": with(secret, KeyUsername, "Prom & Co\n", KeyPasswordHash, "abCD\r\n", KeyIterations, "1000\n"),
		"CRLF in PEM":          with(secret, KeyClientCA, strings.ReplaceAll(string(text), "\n", "\r\n")),
		"another key encoding": with(secret, KeyPrivateKey, string(sec1(key))),
	} {
		other, err := Parse(secret, today)
		if err != nil || !bytes.Equal(other.Content, file.Content) {
			t.Errorf("%s: another file, %v", name, err)
		}
	}
}

// with returns a copy of a Secret with other values for some keys; the value - removes a
// key.
func with(secret map[string][]byte, pairs ...string) map[string][]byte {
	changed := maps.Clone(secret)
	for i := 0; i < len(pairs); i += 2 {
		if changed[pairs[i]] = []byte(pairs[i+1]); pairs[i+1] == "-" {
			delete(changed, pairs[i])
		}
	}
	return changed
}

func TestSecretIsInvalid(t *testing.T) {
	key, short := ecKey(t, elliptic.P256()), rsaKey(t, 1024)
	text, _ := certificate(t, key, today.Add(time.Hour))
	expired, _ := certificate(t, key, today.Add(-time.Minute))
	shortText, _ := certificate(t, short, today.Add(time.Hour))
	p224 := ecKey(t, elliptic.P224())
	p224Text, _ := certificate(t, p224, today.Add(time.Hour))
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	edText, _ := certificate(t, edKey, today.Add(time.Hour))
	good := map[string][]byte{
		KeyCertificate: text, KeyPrivateKey: pkcs8(key), KeyUsername: []byte("prometheus"), KeyPasswordHash: []byte("ab"),
		KeySalt: []byte("cd"), KeyAlgorithm: []byte("PBKDF2WithHmacSHA512"), KeyIterations: []byte("1"),
	}
	if _, err := Parse(good, today); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		secret map[string][]byte
		want   string
	}{
		"nothing":                    {nil, "key tls.crt is missing"},
		"an empty certificate":       {with(good, KeyCertificate, ""), "key tls.crt has no PEM certificate"},
		"no certificate":             {with(good, KeyCertificate, "secret words"), "key tls.crt has no PEM certificate"},
		"a key as certificate":       {with(good, KeyCertificate, string(pkcs8(key))), "key tls.crt has no PEM certificate"},
		"a broken chain":             {with(good, KeyCertificate, string(text)+string(block("CERTIFICATE", []byte("x"), nil))), "key tls.crt has a certificate that cannot be parsed, number 2"},
		"an expired certificate":     {with(good, KeyCertificate, string(expired)), "key tls.crt expired on 2026-05-31T23:59:00Z"},
		"no key":                     {with(good, KeyPrivateKey, "-"), "key tls.key is missing"},
		"a certificate as key":       {with(good, KeyPrivateKey, string(text)), "key tls.key has no PEM private key"},
		"a broken key":               {with(good, KeyPrivateKey, string(block("PRIVATE KEY", []byte("x"), nil))), "key tls.key cannot be parsed as PKCS #8, PKCS #1 or SEC 1"},
		"an encrypted key":           {with(good, KeyPrivateKey, string(block("ENCRYPTED PRIVATE KEY", []byte("x"), nil))), "key tls.key is encrypted; decrypt it"},
		"another's key":              {with(good, KeyPrivateKey, string(pkcs8(ecKey(t, elliptic.P256())))), "key tls.key is not the key of the first certificate of tls.crt"},
		"a short key":                {with(good, KeyPrivateKey, string(pkcs8(short)), KeyCertificate, string(shortText)), "key tls.key is an RSA key of 1024 bits; use 2048 or more"},
		"a curve that Java lacks":    {with(good, KeyPrivateKey, string(pkcs8(p224)), KeyCertificate, string(p224Text)), "key tls.key is on the curve P-224; use P-256"},
		"Ed25519":                    {with(good, KeyPrivateKey, string(pkcs8(edKey)), KeyCertificate, string(edText)), "key tls.key is neither RSA nor EC"},
		"an empty client CA":         {with(good, KeyClientCA, ""), "key client-ca.crt has no PEM certificate"},
		"a hash alone":               {with(good, KeyUsername, "-"), "key username is missing; a password needs all of username, passwordHash, salt or saltText, algorithm, iterations"},
		"a username alone":           {with(good, KeyPasswordHash, "-", KeySalt, "-"), "key passwordHash is missing; a password needs all of username, passwordHash, salt or saltText, algorithm, iterations"},
		"an empty username":          {with(good, KeyUsername, "\n"), "key username is not 1 to 256 bytes of UTF-8 without a colon"},
		"a username with a colon":    {with(good, KeyUsername, "a:b"), "key username is not 1 to 256 bytes of UTF-8 without a colon"},
		"a password, not its hash":   {with(good, KeyPasswordHash, "secret words"), "key passwordHash is not 1 to 1024 bytes in hexadecimal"},
		"a hash beyond all":          {with(good, KeyPasswordHash, strings.Repeat("ab", 1025)), "key passwordHash is not 1 to 1024 bytes in hexadecimal"},
		"no salt":                    {with(good, KeySalt, "-"), "key salt is missing, and so is saltText"},
		"two salts":                  {with(good, KeySaltText, "a"), "key saltText is given together with salt; keep one"},
		"an empty text of a salt":    {with(good, KeySalt, "-", KeySaltText, "\n"), "key saltText is not 1 to 512 bytes of UTF-8"},
		"a salt that is no text":     {with(good, KeySalt, "-", KeySaltText, "\xff"), "key saltText is not 1 to 512 bytes of UTF-8"},
		"half a byte":                {with(good, KeySalt, "abc"), "key salt is not 1 to 512 bytes in hexadecimal"},
		"an empty salt":              {with(good, KeySalt, ""), "key salt is not 1 to 512 bytes in hexadecimal"},
		"an unknown algorithm":       {with(good, KeyAlgorithm, "secret words"), "key algorithm is none of PBKDF2WithHmacSHA1, PBKDF2WithHmacSHA256, PBKDF2WithHmacSHA512"},
		"no iteration":               {with(good, KeyIterations, "0"), "key iterations is not a number from 1 to 2000000"},
		"too many iterations":        {with(good, KeyIterations, "2000001"), "key iterations is not a number from 1 to 2000000"},
		"iterations that are a word": {with(good, KeyIterations, "secret words"), "key iterations is not a number from 1 to 2000000"},
	} {
		_, err := Parse(tc.secret, today)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// Whatever a Secret contains, Parse does not panic, and a file that it returns has content.
func FuzzParse(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), []byte("1"))
	f.Fuzz(func(t *testing.T, text, value []byte) {
		secret := map[string][]byte{KeyCertificate: text, KeyPrivateKey: text, KeyClientCA: text}
		for _, key := range passwordKeys {
			secret[key] = value
		}
		if file, err := Parse(secret, today); err == nil && len(file.Content) == 0 {
			t.Error("an empty file is valid")
		}
	})
}
