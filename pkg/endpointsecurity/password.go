package endpointsecurity

import (
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxIterations limits a scrape with a password that is new to the agent to some
	// seconds of the application's CPU time.
	maxIterations = 2_000_000
	maxUsername   = 256
	// maxHash is the length of SHA-512, in bytes, the longest hash that the stock exporter
	// derives: a longer one multiplies the iterations.
	maxHash = 64
	maxSalt = 512
)

var (
	passwordKeys = []string{KeyUsername, KeyPasswordHash, KeySalt, KeyAlgorithm, KeyIterations}
	algorithms   = []string{"PBKDF2WithHmacSHA1", "PBKDF2WithHmacSHA256", "PBKDF2WithHmacSHA512"}
)

// addPassword adds the credentials in a Secret. It is an error if only some of their keys
// are there.
func addPassword(pairs url.Values, secret map[string][]byte) error {
	has := func(key string) bool { _, ok := secret[key]; return ok }
	if !slices.ContainsFunc(passwordKeys, has) {
		return nil
	}
	for _, key := range passwordKeys {
		if !has(key) {
			return invalid(key, "is missing; a password needs all of %s", strings.Join(passwordKeys, ", "))
		}
	}
	username := text(secret, KeyUsername)
	if username == "" || len(username) > maxUsername || strings.Contains(username, ":") || !utf8.ValidString(username) {
		return invalid(KeyUsername, "is not 1 to %d bytes of UTF-8 without a colon", maxUsername)
	}
	pairs.Set("username", username)
	for key, most := range map[string]int{KeyPasswordHash: maxHash, KeySalt: maxSalt} {
		value := strings.ToLower(text(secret, key))
		if raw, err := hex.DecodeString(value); err != nil || len(raw) == 0 || len(raw) > most {
			return invalid(key, "is not 1 to %d bytes in hexadecimal", most)
		}
		pairs.Set(key, value)
	}
	algorithm := text(secret, KeyAlgorithm)
	if !slices.Contains(algorithms, algorithm) {
		return invalid(KeyAlgorithm, "is none of %s", strings.Join(algorithms, ", "))
	}
	pairs.Set(KeyAlgorithm, algorithm)
	iterations, err := strconv.Atoi(text(secret, KeyIterations))
	if err != nil || iterations < 1 || iterations > maxIterations {
		return invalid(KeyIterations, "is not a number from 1 to %d", maxIterations)
	}
	pairs.Set(KeyIterations, strconv.Itoa(iterations))
	return nil
}
