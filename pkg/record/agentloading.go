package record

import (
	"slices"
	"strconv"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// warnsSince is the first version of Java whose HotSpot warns of a load (JEP 451).
const warnsSince = 21

// AgentLoadingOf returns what a JVM that was found does when an agent is loaded; empty if
// neither its option nor its version is known.
func AgentLoadingOf(p helperapi.Process) v1alpha1.AgentLoading {
	switch major := feature(p.Version); {
	case p.LoadDenied:
		return v1alpha1.AgentLoadingDenied
	case p.LoadAllowed:
		return v1alpha1.AgentLoadingAllowed
	case p.LoadWarns:
		return v1alpha1.AgentLoadingWarns
	case major > 0 && major < warnsSince:
		return v1alpha1.AgentLoadingWarnsAfterUpgrade
	}
	return "" // by a helper that does not report its option
}

// JavaOptionsOf returns what a helper reports of JDK_JAVA_OPTIONS; empty for what the API
// does not know.
func JavaOptionsOf(p helperapi.Process) v1alpha1.JavaOptions {
	reported := v1alpha1.JavaOptions(p.JavaOptions)
	if slices.Contains([]v1alpha1.JavaOptions{v1alpha1.JavaOptionsAbsent, v1alpha1.JavaOptionsSet, v1alpha1.JavaOptionsIgnored}, reported) {
		return reported
	}
	return ""
}

// feature returns the feature release of a Java version: 8 for 1.8.0_342, 25 for 25.0.3; 0
// if there is none.
func feature(version string) int {
	number := strings.TrimPrefix(version, "1.")
	if end := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		number = number[:end]
	}
	major, _ := strconv.Atoi(number)
	return major
}

// bySeverity has the kinds of AgentLoading, the most severe first.
var bySeverity = []v1alpha1.AgentLoading{
	v1alpha1.AgentLoadingDenied, v1alpha1.AgentLoadingWarns, v1alpha1.AgentLoadingWarnsAfterUpgrade, v1alpha1.AgentLoadingAllowed,
}

// AgentLoading returns the most severe AgentLoading of the processes into which an agent is
// loaded; empty if none is known.
func AgentLoading(processes []v1alpha1.JavaProcess) v1alpha1.AgentLoading {
	for _, kind := range bySeverity {
		if slices.ContainsFunc(processes, func(p v1alpha1.JavaProcess) bool { return p.AgentLoading == kind && !p.Excluded && !p.Adopted }) {
			return kind
		}
	}
	return ""
}
