package helperapi

import (
	"net/url"
	"strconv"
)

// number returns a number in pairs; 0 if there is none.
func number(pairs url.Values, key string) int32 {
	n, err := strconv.ParseInt(pairs.Get(key), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// Count returns a count in pairs; nil if there is none.
func Count(pairs url.Values, key string) *int64 {
	n, err := strconv.ParseInt(pairs.Get(key), 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
