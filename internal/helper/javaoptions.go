//go:build linux

package helper

import (
	"os"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// javaOptions reports what is known of JDK_JAVA_OPTIONS in the environment of a JVM. In the
// JVM's own container, the helper has the environment of the image and the pod: an entrypoint
// may use the variable and remove it before it starts the JVM.
func javaOptions(req helperapi.Request, p jvm.Process) string {
	if inside := req.PodUID != "" && req.ContainerID == ""; inside && p.JavaOptions == jvm.JavaOptionsAbsent {
		if _, set := os.LookupEnv(jvm.VariableJavaOptions); set {
			return string(jvm.JavaOptionsSet)
		}
	}
	return string(p.JavaOptions)
}
