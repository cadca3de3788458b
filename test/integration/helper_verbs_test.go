package integration

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

func (c *container) inspect(request helperapi.Request) *helperapi.Report {
	if len(request.Files) == 0 {
		c.looks++
	}
	report := &helperapi.Report{}
	for _, j := range c.jvms {
		p := j.Process
		p.Excluded = j.excluded(request.Rules)
		if c.exposed && request.TmpMountedElsewhere && !request.AllowSharedTmp {
			p.Refusal = &helperapi.Error{Reason: helperapi.ReasonTmpShared, Message: "The container says TmpShared."}
		}
		report.Processes = append(report.Processes, p)
	}
	for _, file := range request.Files {
		if c.files[file] {
			report.Files = append(report.Files, file)
		}
	}
	return report
}

// excluded evaluates the rules as internal/helper does, with equality instead of patterns.
func (j *jvm) excluded(rules []helperapi.ProcessRule) bool {
	for _, rule := range rules {
		if (rule.MainClass == "" || rule.MainClass == j.MainClass) && (rule.Argument == "" || rule.Argument == j.argument) {
			return rule.Action == helperapi.RuleExclude
		}
	}
	return false
}

// listening are the ports in the pod with a listener.
func (c *container) listening() []int32 {
	var ports []int32
	for _, each := range c.pod() {
		ports = append(ports, each.busy...)
		for _, j := range each.jvms {
			if j.running() {
				ports = append(ports, j.Mark.Port)
			}
			if j.Exporter != nil && j.Exporter.Port != 0 {
				ports = append(ports, j.Exporter.Port)
			}
		}
	}
	slices.Sort(ports)
	return ports
}

func (j *jvm) running() bool { return j.Mark != nil && j.Mark.State == helperapi.AgentRunning }

func (c *container) stage(files []helperapi.File, blobs []transport.Blob) (*helperapi.Report, error) {
	for i, blob := range blobs {
		if files[i] != blob.File || int64(len(blob.Content)) != blob.Size {
			return nil, fault(v1alpha1.ReasonStagingIncomplete)
		}
		c.files[blob.File] = true
	}
	return &helperapi.Report{}, nil
}

// load is idempotent: an agent that is present is reconfigured, not loaded.
func (c *container) load(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	if j == nil {
		return nil, fault(v1alpha1.ReasonProcessGone)
	}
	desired := request.Desired
	if !slices.Contains(j.asked, desired.ConfigSHA256) {
		j.asked = append(j.asked, desired.ConfigSHA256)
	}
	port, free := c.choose(j, desired)
	switch {
	case j.Refusal != nil:
		return nil, fault(string(j.Refusal.Reason))
	case j.fault != nil:
		return nil, j.fault
	case j.Exporter != nil && j.Mark == nil:
		return nil, fault(string(helperapi.ReasonStockExporter))
	case !free:
		return nil, fault(v1alpha1.ReasonPortInUse)
	case !c.has(desired.Agent) || !c.has(desired.Implementation) || !c.has(desired.Config) || desired.Security != "" && !c.has(desired.Security):
		return nil, fault(v1alpha1.ReasonStagingIncomplete)
	}
	if j.Mark == nil {
		if request.RefuseOnWarning && j.LoadWarns {
			return nil, fault(v1alpha1.ReasonAgentLoadingWarns)
		}
		j.loads++
	}
	j.AgentJarOpen = true // as long as the JVM lives
	j.identity = desired.Identity
	j.Mark = &helperapi.Mark{
		Protocol: 1, State: helperapi.AgentRunning, Agent: "1.0.0", Loads: j.loads, Port: port,
		ConfigSHA256: desired.ConfigSHA256, SecuritySHA256: desired.SecuritySHA256, ImplementationSHA256: desired.ImplementationSHA256,
		Notices: j.notices,
	}
	return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
}

// choose returns the port to serve on: the desired one, else the current one, else the
// lowest free one that is not to be avoided. A foreign process may listen on it.
func (c *container) choose(j *jvm, desired *helperapi.Desired) (port int32, free bool) {
	taken := c.listening()
	switch {
	case j.running() && (desired.Port == 0 || desired.Port == j.Mark.Port):
		return j.Mark.Port, true
	case desired.Port != 0:
		return desired.Port, !slices.Contains(taken, desired.Port)
	}
	port = helperapi.FirstPort
	for slices.Contains(taken, port) || slices.Contains(desired.Avoid, port) {
		port++
	}
	return port, true
}

// unload is idempotent, also for an agent that is stopped or gone.
func (c *container) unload(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	switch {
	case j == nil:
		return &helperapi.Report{}, nil
	case j.stays != nil:
		return nil, j.stays
	case j.running():
		j.unloads++
		j.Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped, Agent: "1.0.0", Loads: j.loads}
	}
	return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
}

func (c *container) status(request helperapi.Request) (*helperapi.Report, error) {
	j := c.jvm(request)
	if j == nil {
		return nil, fault(v1alpha1.ReasonProcessGone)
	}
	return &helperapi.Report{Processes: []helperapi.Process{j.Process}}, nil
}

// jvm returns the JVM of a request; nil if it is gone.
func (c *container) jvm(request helperapi.Request) *jvm {
	i := slices.IndexFunc(c.jvms, func(j *jvm) bool { return j.Target == *request.Target })
	if i < 0 {
		return nil
	}
	return c.jvms[i]
}

func (c *container) has(name string) bool {
	for file := range c.files {
		if file.Name == name {
			return true
		}
	}
	return false
}

// answer is the answer of a port from within the pod.
func (c *container) answer(port int32) (*helperapi.Report, error) {
	if slices.Contains(c.listening(), port) {
		return &helperapi.Report{}, nil
	}
	return nil, fault(v1alpha1.ReasonEndpointNotServing)
}
