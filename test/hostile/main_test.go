//go:build linux

package hostile

import (
	"flag"
	"os"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// asJVM, an environment variable, makes this binary imitate a JVM: see fakeJVM.
const asJVM = "HOSTILE_JVM"

func TestMain(m *testing.M) {
	if does := os.Getenv(asJVM); does != "" {
		fakeJVM(does)
	}
	if os.Getenv(asAttacker) != "" {
		attack()
	}
	flag.Parse()
	// Rows take processors from each other by their places, and mostly wait.
	if err := flag.Set("test.parallel", "200"); err != nil {
		panic(err)
	}
	jvmtest.Main(m)
}
