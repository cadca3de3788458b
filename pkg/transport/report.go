package transport

import (
	"fmt"
	"math"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

const (
	// maxSentence limits a message from the helper, in bytes.
	maxSentence = 500
	// maxName limits each text that the helper reports about a process, in bytes.
	maxName = 1024
)

// validate returns an error if the report cannot come from the helper: it has numbers
// that a record does not accept, or one process twice. Anything in the container may have
// answered, and if the API rejected the record, it could not even show the problem.
func validate(r *helperapi.Report) error {
	seen := map[helperapi.Target]bool{}
	for _, p := range r.Processes {
		switch {
		case p.PID < 1 || p.PID > math.MaxInt32 || p.StartTime > math.MaxInt64:
			return fmt.Errorf("process %d with start time %d is out of range", p.PID, p.StartTime)
		case seen[p.Target]:
			return fmt.Errorf("process %d is reported twice", p.PID)
		case p.Mark != nil && !isPort(p.Mark.Port), p.Exporter != nil && !isPort(p.Exporter.Port):
			return fmt.Errorf("process %d reports a port out of range", p.PID)
		case p.Memory != nil && (p.Memory.Limit < 0 || p.Memory.Free < 0):
			return fmt.Errorf("process %d has memory below zero", p.PID)
		}
		seen[p.Target] = true
	}
	return nil
}

// isPort reports whether a number is a TCP port, or 0 for none.
func isPort(n int32) bool { return 0 <= n && n <= math.MaxUint16 }

// sanitize makes the report's texts safe for a record and a terminal, and the reasons of
// its errors safe for a metric, in place. It returns the report, and the helper's own
// error, if there is one, as an *Error.
func sanitize(r *helperapi.Report) (*helperapi.Report, error) {
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Refusal != nil {
			bound(p.Refusal)
		}
		names := []*string{&p.Implementation, &p.Vendor, &p.Version, &p.MainClass, &p.Warning}
		if m := p.Mark; m != nil {
			names = append(names, &m.Agent, &m.ConfigSHA256, &m.SecuritySHA256, &m.ImplementationSHA256, &m.Message)
		}
		for _, name := range names {
			*name = text.Cut(*name, maxName)
		}
	}
	if r.Judgement != nil {
		boundJudgement(r.Judgement)
	}
	if r.Error == nil {
		return r, nil
	}
	bound(r.Error)
	return r, &Error{Reason: reasonOf(r.Error), Message: r.Error.Message}
}

// reasonOf returns the reason of the helper's own error. A refusal by a node agent that could not
// determine what decides it is none that stays: the container may be served at another time.
func reasonOf(e *helperapi.Error) string {
	if e.Unsettled && e.Reason == helperapi.ReasonNodeAgentRefused {
		return v1alpha1.ReasonNodeAgentUndecided
	}
	return string(e.Reason)
}

// boundJudgement does for a judgement what bound does for an error.
func boundJudgement(j *helperapi.Judgement) {
	if j.Reason != "" {
		if j.Reason != helperapi.JudgementTrialIncomplete && !v1alpha1.Known(string(j.Reason)) {
			j.Reason = v1alpha1.ReasonHelperFailed
		}
		j.Message = text.Line(j.Message, maxName) + "."
	}
	if s := j.Skipped; s != nil {
		s.Domain, s.Reason = text.Cut(s.Domain, maxName), text.Cut(s.Reason, maxName)
	}
}

// bound replaces an unknown reason and truncates the message: the output of a container
// is not trusted.
func bound(e *helperapi.Error) {
	if !v1alpha1.Known(string(e.Reason)) {
		e.Reason = v1alpha1.ReasonHelperFailed
	}
	e.Message = text.Line(e.Message, maxSentence) + "."
}
