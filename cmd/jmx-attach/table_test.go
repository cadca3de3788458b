//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

func TestTable(t *testing.T) {
	mark := &helperapi.Mark{State: helperapi.AgentRunning, Agent: "1.0.0", Port: 9404}
	for name, test := range map[string]struct {
		process helperapi.Process
		want    string // attachable, agent and port
	}{
		"nothing there":      {helperapi.Process{}, "yes - -"},
		"refused":            {helperapi.Process{Refusal: &helperapi.Error{Reason: helperapi.ReasonUserMismatch}}, "UserMismatch - -"},
		"excluded":           {helperapi.Process{Excluded: true, Refusal: &helperapi.Error{Reason: helperapi.ReasonUserMismatch}}, "excluded - -"},
		"ours":               {helperapi.Process{Mark: mark, AgentJarOpen: true}, "yes running (1.0.0) 9404"},
		"ours, silent":       {helperapi.Process{AgentJarOpen: true}, "yes unknown -"},
		"stock":              {helperapi.Process{Exporter: &helperapi.Exporter{Port: 9405}}, "yes stock exporter 9405"},
		"stock, silent":      {helperapi.Process{Exporter: &helperapi.Exporter{}}, "yes stock exporter -"},
		"stock beside ours":  {helperapi.Process{Mark: mark, AgentJarOpen: true, Exporter: &helperapi.Exporter{Port: 9405}}, "yes running (1.0.0) 9404"},
		"stock beside ours?": {helperapi.Process{AgentJarOpen: true, Exporter: &helperapi.Exporter{Port: 9405}}, "yes unknown -"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			printReport(&out, helperapi.VerbInspect, helperapi.Report{Processes: []helperapi.Process{test.process}})
			row := strings.Fields(strings.Split(out.String(), "\n")[1])
			if diff := cmp.Diff(test.want, strings.Join(row[4:], " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
