package endpointsecurity

import (
	"crypto/elliptic"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The credentials of httpServer.authentication.basic are taken as they are. The hashes
// were made by stock exporters: the short one is in the documentation of 1.6, with the
// default iterations; the others are of 1.0.1, with the default key length, 128 bytes.
func TestStockPassword(t *testing.T) {
	digests := map[string]func() hash.Hash{"PBKDF2WithHmacSHA1": sha1.New, "PBKDF2WithHmacSHA256": sha256.New, "PBKDF2WithHmacSHA512": sha512.New}
	key := ecKey(t, elliptic.P256())
	certificate, _ := certificate(t, key, today.Add(time.Hour))
	for _, tc := range []struct{ algorithm, iterations, hash string }{
		{"PBKDF2WithHmacSHA256", "600000", "02:56:48:21:BA:EF:62:CC:92:79:90:C4:E6:45:F0:48"},
		{"PBKDF2WithHmacSHA1", "1000", "1787cab9147360368b208287925843b8a38566bcc16dc3316c1d4748c7f2e41d960011f84d94632ff27af03b7263165def5c97ccec59cb184aaaf523630b6e3b65e0726e697deb830505e5d6f21999493f89dade83d72b5b7dc956b4f2f6a5612929eddf4c4e8deadf47a2b0891186d477a102e90c26a41e2ac1a871e0938fa4"},
		{"PBKDF2WithHmacSHA256", "1000", "b69c5c8a103e417bba18fce1f20cbcd96570d353ab97ee2f3fa888af43eae6d7fb701423f951295c3a9f65c320ee09c9c68ab7d30ae1f3102b9b363f1fb61d52a79ccbad552546c573096c389cf2fd827f90e531ef7e3e6bb20c387723ec3acf29f7e54d4ecc357ac2e5cbe3b3e5092bccb94026a428e95f2d18b21441e74d5b"},
		{"PBKDF2WithHmacSHA512", "1000", "076fe2279bca48669b139e029caefce41a2f0fe648a3ff8ed230596812a62934fc99298a9865ae4b057cb683a483c032e490611ddd2e531701ff6a6448b2aa22deb3bc5608c666ec98f8968c1bdab2f22a6c228e19ccb262553ebedcc758369d92cfd7d2a16d8fdcde8ee936d4e72d0a6da1b8560a53bb17e2d5dea04851fc33"},
	} {
		t.Run(tc.algorithm+" "+tc.iterations, func(t *testing.T) {
			file, err := Parse(map[string][]byte{
				KeyCertificate: certificate, KeyPrivateKey: pkcs8(key), KeyUsername: []byte("Prometheus"), KeyPasswordHash: []byte(tc.hash),
				KeySaltText: []byte("98LeBWIjca\n"), KeyAlgorithm: []byte(tc.algorithm), KeyIterations: []byte(tc.iterations),
			}, today)
			if err != nil {
				t.Fatal(err)
			}
			pairs, err := url.ParseQuery(string(file.Content))
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ToLower(strings.ReplaceAll(tc.hash, ":", ""))
			got := pairs.Get("passwordHash")
			if digest := digests[tc.algorithm]().Size(); len(got) != min(len(want), 2*digest) || !strings.HasPrefix(want, got) {
				t.Errorf("hash: got %s, want at most the first %d bytes of %s", got, digest, want)
			}
			// As the agent derives it.
			if derived := derive(t, digests[tc.algorithm], "secret", pairs); derived != got {
				t.Errorf("the right password: got %s, want %s", derived, got)
			}
			if derive(t, digests[tc.algorithm], "other", pairs) == got {
				t.Error("another password is right, too")
			}
		})
	}
}

func derive(t *testing.T, digest func() hash.Hash, password string, pairs url.Values) string {
	t.Helper()
	salt, err := hex.DecodeString(pairs.Get("salt"))
	if err != nil {
		t.Fatal(err)
	}
	iterations, err := strconv.Atoi(pairs.Get("iterations"))
	if err != nil {
		t.Fatal(err)
	}
	derived, err := pbkdf2.Key(digest, password, salt, iterations, len(pairs.Get("passwordHash"))/2)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(derived)
}
