//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

func TestTable(t *testing.T) {
	mark := &attach.Mark{State: attach.AgentRunning, Agent: "1.0.0", Port: 9404}
	for name, test := range map[string]struct {
		process attach.Process
		want    string // attachable, agent and port
	}{
		"nothing there":      {attach.Process{}, "yes - -"},
		"refused":            {attach.Process{Refusal: &attach.Error{Reason: attach.ReasonUserMismatch}}, "UserMismatch - -"},
		"excluded":           {attach.Process{Excluded: true, Refusal: &attach.Error{Reason: attach.ReasonUserMismatch}}, "excluded - -"},
		"ours":               {attach.Process{Mark: mark, AgentJarOpen: true}, "yes running (1.0.0) 9404"},
		"ours, silent":       {attach.Process{AgentJarOpen: true}, "yes unknown -"},
		"stock":              {attach.Process{Exporter: &attach.Exporter{Port: 9405}}, "yes stock exporter 9405"},
		"stock, silent":      {attach.Process{Exporter: &attach.Exporter{}}, "yes stock exporter -"},
		"stock beside ours":  {attach.Process{Mark: mark, AgentJarOpen: true, Exporter: &attach.Exporter{Port: 9405}}, "yes running (1.0.0) 9404"},
		"stock beside ours?": {attach.Process{AgentJarOpen: true, Exporter: &attach.Exporter{Port: 9405}}, "yes unknown -"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			printReport(&out, attach.VerbInspect, attach.Report{Processes: []attach.Process{test.process}})
			row := strings.Fields(strings.Split(out.String(), "\n")[1])
			if diff := cmp.Diff(test.want, strings.Join(row[4:], " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
