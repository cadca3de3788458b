//go:build linux

package helper

import (
	"os"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// javaOptions reports what is known of JDK_JAVA_OPTIONS in the environment of a JVM. In the
// JVM's own container, the helper has the environment of the image and the pod: an entrypoint
// may use the variable and remove it before it starts the JVM. From outside, that is not seen:
// an entrypoint that replaces itself by the JVM leaves no process that still has the variable,
// so a JVM without it proves nothing.
func javaOptions(req helperapi.Request, p jvm.Process) string {
	if p.JavaOptions != jvm.JavaOptionsAbsent || onHost(req) {
		return string(p.JavaOptions)
	}
	if req.ContainerID != "" {
		return string(jvm.JavaOptionsUnknown)
	}
	if _, set := os.LookupEnv(jvm.VariableJavaOptions); set {
		return string(jvm.JavaOptionsSet)
	}
	return string(p.JavaOptions)
}
