package helperapi

import (
	"net/url"
	"strconv"
)

// number returns a number of so many bits in pairs; 0 if there is none.
func number(pairs url.Values, key string, bits int) int64 {
	n, err := strconv.ParseInt(pairs.Get(key), 10, bits)
	if err != nil {
		return 0
	}
	return n
}

// Count returns a count in pairs; nil if there is none.
func Count(pairs url.Values, key string) *int64 {
	n, err := strconv.ParseInt(pairs.Get(key), 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
