package endpointsecurity

import (
	"encoding/hex"
	"maps"
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
	maxHash       = 1024
	maxSalt       = 512
)

var passwordKeys = []string{KeyUsername, KeyPasswordHash, KeySalt, KeySaltText, KeyAlgorithm, KeyIterations}

// algorithms maps the algorithms to the lengths of their digests, in bytes.
var algorithms = map[string]int{"PBKDF2WithHmacSHA1": 20, "PBKDF2WithHmacSHA256": 32, "PBKDF2WithHmacSHA512": 64}

// addPassword adds the credentials in a Secret. It is an error if only some of their keys
// are there.
func addPassword(pairs url.Values, secret map[string][]byte) error {
	has := func(key string) bool { _, ok := secret[key]; return ok }
	if !slices.ContainsFunc(passwordKeys, has) {
		return nil
	}
	for _, key := range passwordKeys {
		if !has(key) && key != KeySalt && key != KeySaltText {
			return invalid(key, "is missing; a password needs all of username, passwordHash, salt or saltText, algorithm, iterations")
		}
	}
	username := text(secret, KeyUsername)
	if username == "" || len(username) > maxUsername || strings.Contains(username, ":") || !utf8.ValidString(username) {
		return invalid(KeyUsername, "is not 1 to %d bytes of UTF-8 without a colon", maxUsername)
	}
	pairs.Set("username", username)
	salt, err := saltBytes(secret)
	if err != nil {
		return err
	}
	pairs.Set(KeySalt, hex.EncodeToString(salt))
	algorithm := text(secret, KeyAlgorithm)
	digest, found := algorithms[algorithm]
	if !found {
		return invalid(KeyAlgorithm, "is none of %s", strings.Join(slices.Sorted(maps.Keys(algorithms)), ", "))
	}
	pairs.Set(KeyAlgorithm, algorithm)
	// The stock exporter's hashes have colons in its documentation.
	hash, err := hexadecimal(KeyPasswordHash, strings.ReplaceAll(text(secret, KeyPasswordHash), ":", ""), maxHash)
	if err != nil {
		return err
	}
	// What is longer than one digest multiplies the iterations, in the application's CPU
	// time, and makes nothing safer. PBKDF2 derives the first bytes independently of those
	// that follow.
	pairs.Set(KeyPasswordHash, hex.EncodeToString(hash[:min(len(hash), digest)]))
	iterations, err := strconv.Atoi(text(secret, KeyIterations))
	if err != nil || iterations < 1 || iterations > maxIterations {
		return invalid(KeyIterations, "is not a number from 1 to %d", maxIterations)
	}
	pairs.Set(KeyIterations, strconv.Itoa(iterations))
	return nil
}

// saltBytes returns the bytes of the salt: hexadecimal in one key, or text in another, as the
// stock exporter has it.
func saltBytes(secret map[string][]byte) ([]byte, error) {
	_, isText := secret[KeySaltText]
	_, isHex := secret[KeySalt]
	switch value := text(secret, KeySaltText); {
	case isText && isHex:
		return nil, invalid(KeySaltText, "is given together with %s; keep one", KeySalt)
	case isHex:
		return hexadecimal(KeySalt, text(secret, KeySalt), maxSalt)
	case !isText:
		return nil, invalid(KeySalt, "is missing, and so is %s", KeySaltText)
	case value == "" || len(value) > maxSalt || !utf8.ValidString(value):
		return nil, invalid(KeySaltText, "is not 1 to %d bytes of UTF-8", maxSalt)
	default:
		return []byte(value), nil
	}
}

// hexadecimal decodes the value of a key.
func hexadecimal(key, value string, most int) ([]byte, error) {
	raw, err := hex.DecodeString(value)
	if err != nil || len(raw) == 0 || len(raw) > most {
		return nil, invalid(key, "is not 1 to %d bytes in hexadecimal", most)
	}
	return raw, nil
}
