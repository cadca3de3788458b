package helperapi

import (
	"net/url"
	"strings"
)

// NoticesHeader is the HTTP header of the agent's health response with its notices,
// encoded as the mark is. It is empty if there are none; older agents do not send it.
const NoticesHeader = "Jmx-Exporter-Notices"

// Notices are what the agent reports about its collections although it serves them.
type Notices struct {
	// Skipped is what the last collection left out; nil if it was complete, or if the
	// agent does not report it.
	Skipped *Skipped `json:"skipped,omitempty"`
	// Expensive is what makes collections expensive; nil if they are not, or if the agent
	// does not report it.
	Expensive *Expensive `json:"expensive,omitempty"`
}

// Skipped summarizes what a collection left out because it cannot be served.
type Skipped struct {
	// Count is the number of MBeans, attributes and samples.
	Count int64 `json:"count"`
	// Domain and Reason are those of most of them. The application chooses the domain of
	// its MBeans; the reasons are the agent's, see docs/agent.md.
	Domain string `json:"domain,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Expensive says what makes collections expensive.
type Expensive struct {
	// Reason is what they take too much of: CPU, Duration or Allocation.
	Reason string `json:"reason"`
	// Rule is the number of the rule in the configuration that costs most, from 1; 0 if
	// it has none.
	Rule int32 `json:"rule,omitempty"`
	// Include are patterns for includeObjectNames that leave out only MBeans that yield no
	// series; empty if all yield some, or if it takes too many patterns.
	Include []string `json:"include,omitempty"`
}

const (
	// maxNotices limits NoticesHeader, in bytes: anybody may serve the port.
	maxNotices = 4096
	// maxIncluded limits Expensive.Include.
	maxIncluded = 10
)

// ParseNotices parses the value of NoticesHeader. It returns nil if the value is not one
// of the agent.
func ParseNotices(value string) *Notices {
	pairs, err := url.ParseQuery(value)
	if err != nil || len(value) > maxNotices {
		return nil
	}
	notices := noticesIn(pairs)
	return &notices
}

func noticesIn(pairs url.Values) Notices {
	return Notices{Skipped: skippedIn(pairs), Expensive: expensiveIn(pairs)}
}

func skippedIn(pairs url.Values) *Skipped {
	count := Count(pairs, "skipped")
	if count == nil || *count == 0 {
		return nil
	}
	return &Skipped{Count: *count, Domain: Bounded(pairs.Get("skipped.domain")), Reason: Bounded(pairs.Get("skipped.reason"))}
}

func expensiveIn(pairs url.Values) *Expensive {
	reason := pairs.Get("expensive")
	if reason == "" {
		return nil
	}
	expensive := &Expensive{Reason: Bounded(reason), Rule: max(number(pairs, "expensive.rule"), 0)}
	// A part of the patterns would leave out MBeans that yield series.
	if include := pairs.Get("expensive.include"); len(include) <= maxBounded {
		if patterns := strings.Fields(Bounded(include)); len(patterns) <= maxIncluded && len(patterns) > 0 {
			expensive.Include = patterns
		}
	}
	return expensive
}
