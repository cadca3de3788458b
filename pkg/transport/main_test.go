//go:build linux

package transport

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

func TestMain(m *testing.M) { jvmtest.Main(m) }
