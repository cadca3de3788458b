package attachment

import (
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	for count, least := range map[int32]time.Duration{
		1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second,
		10: 512 * time.Second, 11: maxBackoff, 12: maxBackoff, 1000: maxBackoff,
	} {
		for range 100 {
			if got := backoff(count); got < least || got > min(least*11/10, maxBackoff) {
				t.Errorf("after %d attempts: %s", count, got)
			}
		}
	}
}
