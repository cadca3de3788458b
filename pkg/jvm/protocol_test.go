//go:build linux

package jvm

import (
	"strings"
	"testing"
)

func TestEncodeRequest(t *testing.T) {
	got, err := encodeRequest("load", "instrument", "false")
	if err != nil || string(got) != "1\x00load\x00instrument\x00false\x00\x00" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, args := range [][]string{{"1", "2", "3", "4"}, {strings.Repeat("x", 1025)}, {"a\x00b"}} {
		if _, err := encodeRequest("load", args...); err == nil {
			t.Errorf("no error for %.20q", args)
		}
	}
}

func TestDecodeReply(t *testing.T) {
	for reply, want := range map[string]struct {
		code  int
		text  string
		fails bool
	}{
		"0\n":                 {0, "", false},
		"0\nreturn code: 0\n": {0, "return code: 0\n", false},
		"-1\nno":              {-1, "no", false},
		"101\n":               {101, "", false},
		"0":                   {fails: true},
		"x\n":                 {fails: true},
		"":                    {fails: true},
	} {
		code, text, err := decodeReply([]byte(reply))
		if code != want.code || text != want.text || (err != nil) != want.fails {
			t.Errorf("%q: got %d, %q, %v", reply, code, text, err)
		}
	}
}

func TestDecodeLoad(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		text string
		want Kind // empty: loaded
	}{
		"8":               {0, "0\n", ""},
		"8, thrown":       {0, "102\n", AgentFailed},
		"9":               {0, "return code: 0\n", ""},
		"9, bad jar":      {0, "return code: 100\n", UnsupportedJVM},
		"9, class loader": {0, "return code: 101\n", UnsupportedJVM},
		"9, thrown":       {0, "return code: 102\n", AgentFailed},
		"17, disabled":    {-1, "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.\n", AgentLoadingDisabled},
		"25, disabled":    {0, "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.\n", AgentLoadingDisabled},
		"module":          {-1, "java.lang.module.FindException: Module java.instrument not found\n", MissingModule},
		"library":         {0, "instrument was not loaded.\nlibinstrument.so: cannot open shared object file\n", MissingModule},
		"24, too early":   {0, "Dynamic agent loading is only permitted in the live phase\n", AttachFailed},
		"11, too early":   {-1, "java.lang.NullPointerException\n", AttachFailed},
		"bad version":     {101, "", AttachFailed},
		"nothing said":    {0, "", AttachFailed},
		"not a module":    {-1, "Module of a long sentence not found\n", AttachFailed},
		"negative result": {0, "return code: -1\n", AttachFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var got Kind
			if err := decodeLoad(test.code, test.text); err != nil {
				got = err.Kind
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
