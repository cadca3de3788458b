package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"the defaults":                     {},
		"fewer of both":                    {args: []string{"--max-execs=1", "--concurrent-attachments=5"}},
		"none":                             {args: []string{"--max-execs-per-node=0"}, says: "--max-execs-per-node=0: must be 1 or more"},
		"no worker for pods without execs": {args: []string{"--concurrent-attachments=64"}, says: "must be more than 64 (4 times --max-execs)"},
		"more execs, and the same workers": {args: []string{"--max-execs=32"}, says: "must be more than 128"},
		"two namespaces":                   {args: []string{"--namespace=shop,bank"}},
		"a name of no namespace":           {args: []string{"--namespace=shop", "--namespace=$(POD_NAMESPACE)"}, says: `--namespace=shop,$(POD_NAMESPACE): "$(POD_NAMESPACE)" is not the name of a namespace`},
		"a comma at the end":               {args: []string{"--namespace=shop,"}, says: `"" is not the name of a namespace`},
		"one transport":                    {args: []string{"--transport=EphemeralContainer"}},
		"the node agents alone":            {args: []string{"--transport=Node"}},
		"a transport that there is not":    {args: []string{"--transport=door"}, says: "--transport=door: must be Auto, Node, Exec or EphemeralContainer"},
		"the last of three shards":         {args: []string{"--total-shards=3", "--shard=2"}},
		"a shard too many":                 {args: []string{"--total-shards=3", "--shard=3"}, says: "--shard=3: must be from 0 to 2, since --total-shards=3"},
		"no shard":                         {args: []string{"--total-shards=0"}, says: "--total-shards=0: must be from 1 to 8"},
		"too many shards":                  {args: []string{"--total-shards=9"}, says: "--total-shards=9: must be from 1 to 8"},
		"shards that nothing keeps apart":  {args: []string{"--total-shards=2", "--leader-elect=false"}, says: "--total-shards=2: needs --leader-elect"},
		"a time before now":                {args: []string{"--health-check-interval=-1s"}, says: "must be 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := read(tc.args)
			switch err := o.check(); {
			case tc.says == "" && err != nil, tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// Whatever a name or an error holds, a terminal that shows the log obeys nothing of it.
func TestLoggerIsPlain(t *testing.T) {
	const hostile = "\x1b[2J\u009b2J\u202egnp\x7f"
	for _, flag := range []string{"--zap-devel=false", "--zap-devel"} {
		o, _ := read([]string{flag})
		var logged strings.Builder
		log := o.logger(&logged)
		log.Info("message "+hostile, "name", hostile)
		log.WithName(hostile).Error(errors.New(hostile), "failed")
		got := logged.String()
		if !strings.Contains(got, "message ") || !strings.Contains(got, "failed") {
			t.Errorf("%s: logged is %q", flag, got)
		}
		for _, r := range got {
			if terminal.Obeys(r) && r != '\n' && r != '\t' {
				t.Errorf("%s: %U is in %q", flag, r, got)
				break
			}
		}
	}
}

func TestNamespaces(t *testing.T) {
	for name, tc := range map[string]struct{ args, want []string }{
		"all":        {},
		"all, empty": {args: []string{"--namespace="}},
		"one":        {args: []string{"--namespace=shop"}, want: []string{"shop"}},
		"a list":     {args: []string{"--namespace=shop,bank"}, want: []string{"shop", "bank"}},
		"repeated":   {args: []string{"--namespace=shop", "--namespace=bank,mill"}, want: []string{"shop", "bank", "mill"}},
	} {
		if o, _ := read(tc.args); !slices.Equal(o.Namespaces, tc.want) {
			t.Errorf("%s: %q are %q", name, tc.args, o.Namespaces)
		}
	}
}
