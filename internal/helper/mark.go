//go:build linux

package helper

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// markProperty is the system property that contains the mark.
const markProperty = "com.banzaicloud.jmxexporter"

// property is a variable for a test that loads the agent while another helper reads its mark.
var property = jvm.Process.Property

// readMark reads our agent's mark. It returns nil if there is none, or none that is
// valid.
func readMark(ctx context.Context, p jvm.Process) (*helperapi.Mark, error) {
	value, found, err := property(p, ctx, markProperty)
	if err != nil || !found {
		return nil, err
	}
	mark, _ := helperapi.ParseMark(value) // an invalid value is not our mark
	return mark, nil
}
