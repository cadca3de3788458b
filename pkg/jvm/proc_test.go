//go:build linux

package jvm

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 7 7 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 33 0 186882 1000 200 18446744073709551615"
	for name, test := range map[string]struct {
		stat  string
		want  stat
		fails bool
	}{
		"plain":                      {"7 (java) S" + rest, stat{'S', 186882, 30 * time.Millisecond}, false},
		"parentheses in the command": {"7 (a) R 1 (b)) S" + rest, stat{'S', 186882, 30 * time.Millisecond}, false},
		"zombie":                     {"7 (java) Z" + rest, stat{'Z', 186882, 30 * time.Millisecond}, false},
		"cut":                        {"7 (java) S 1 7", stat{}, true},
		"no number":                  {"7 (java) S" + strings.Replace(rest, "186882", "x", 1), stat{}, true},
		"no command":                 {"7 java S" + rest, stat{}, true},
		"empty":                      {"", stat{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(test.stat))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\tjava\nPid:\t4711\nNSpid:\t4711\t12\t1\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t6 9 \nThreads:\t3\nCapEff:\t00000000a80425fb\nSigCgt:\t2000000181005ccf\n"
	got, err := parseStatus([]byte(text))
	want := status{realUID: 1, uid: 2, gid: 6, groups: []int{6, 9}, nspids: []int{4711, 12, 1}, threads: 3, capabilities: 0xa80425fb, caught: 0x2000000181005ccf}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	got, err = parseStatus([]byte(strings.Replace(text, "NSpid", "Other", 1)))
	if err != nil || len(got.nspids) != 1 || got.nspids[0] != 4711 {
		t.Errorf("without NSpid: got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "Pid:\t1\n", strings.Replace(text, "2000000181005ccf", "x", 1)} {
		if _, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
