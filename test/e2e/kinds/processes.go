package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// processes are kinds of what runs in the container, by its state.
var processes = []Kind{
	{
		Name: "port-in-use", Title: "the application listens on the exporter's port",
		ProvedBy:  "internal/helper TestPortInUse",
		Change:    Change{Container: options("-Ddummy.port=9400")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonPortInUse, Words: []string{"9400"},
		Mended: &Change{Container: options("-Ddummy.port=9400"), Exporter: "port: 9401"},
	},
	{
		Name: "socket-deleted", Title: "the attach socket is deleted by what cleans `/tmp`",
		ProvedBy:  "pkg/jvm TestSocketDeleted",
		Change:    Change{Container: script("java -XX:+StartAttachListener -jar /app/dummyapp.jar & " + cleanTmp)},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "socket-deleted-reduced-signals", Title: "the attach socket is deleted by what cleans `/tmp`, `-Xrs`",
		ProvedBy:  "pkg/jvm TestSignalsReduced",
		Change:    Change{Container: script("java -Xrs -jar /app/dummyapp.jar & " + cleanTmp)},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonSignalsReduced, Words: []string{"-Xrs", "SIGQUIT would kill it"},
		Mended: &Change{},
	},
	{
		Name: "paused", Title: "a JVM that pauses for 20 seconds when it is attached to",
		ProvedBy:  "test/integration TestTriedAgain",
		Change:    Change{Container: script(stopped + "sleep 20; kill -CONT $!; wait")},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "stopped", Title: "a JVM that is stopped (SIGSTOP)",
		ProvedBy:  "pkg/jvm TestPausedJVMIsPolledSeldom",
		Change:    Change{Container: script(stopped + "wait")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonAttachTimeout,
	},
	{
		Name: "openj9", Title: "a process called java with OpenJ9's library `libj9vm29.so` (no JVM)",
		ProvedBy: "pkg/jvm TestParseMaps",
		Change: Change{Container: script("cd /tmp; cp /bin/sleep java; cp $JAVA_HOME/lib/libjsig.so libj9vm29.so; " +
			"LD_PRELOAD=/tmp/libj9vm29.so exec ./java 1000000")},
		NoJava:    true,
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonUnsupportedJVM, Words: []string{"OpenJ9"},
	},
	{
		Name: "called-java", Title: "a process called java that is none",
		ProvedBy:  "pkg/jvm TestFindListsAll",
		Change:    Change{Container: script("cd /tmp; cp /bin/sleep java; exec ./java 1000000")},
		NoJava:    true,
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonNoJavaProcess,
	},
	{
		Name: "no-java", Title: "no Java",
		ProvedBy:  "test/e2e TestPreflight",
		Change:    Change{Container: "command: [sleep, infinity]"},
		NoJava:    true,
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonNoJavaProcess,
	},
	{
		Name: "no-java-distroless", Title: "no Java, distroless",
		ProvedBy:  "pkg/steps TestTransport",
		Change:    Change{Container: `image: "pause:dev"`},
		NoJava:    true,
		Transport: v1alpha1.TransportEphemeralContainer,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonNoJavaProcess,
	},
}

const (
	// cleanTmp deletes the socket of the JVM that was just started, once it is there.
	cleanTmp = "until [ -S /tmp/.java_pid$! ]; do sleep 0.1; done; rm /tmp/.java_pid$!; wait"
	// stopped starts a JVM that is stopped before it says that the application is ready.
	stopped = "java -jar /app/dummyapp.jar >/tmp/log & until [ -s /tmp/log ]; do sleep 0.1; done; " +
		"kill -STOP $!; cat /tmp/log; "
)
