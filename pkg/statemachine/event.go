package statemachine

import "slices"

// Event is what moves a Machine from one phase to another.
type Event string

// Forward: the step of the next phase is done.
const (
	Discover Event = "discover"
	FindJava Event = "findJava"
	Stage    Event = "stage"
	Load     Event = "load"
	Expose   Event = "expose"
	Annotate Event = "annotate"
)

// Backward: what a phase rests on is no longer so.
const (
	// Replaced: the container or the JVM is another one.
	Replaced Event = "replaced"
	// ConfigChanged: other files are wanted in the container.
	ConfigChanged Event = "configChanged"
	// AgentChanged: the agent is gone from the same JVM, or serves otherwise
	// than wanted.
	AgentChanged Event = "agentChanged"
	// EndpointLost: the endpoint no longer stands in an EndpointSlice.
	EndpointLost Event = "endpointLost"
	// AnnotationLost: our annotations are no longer on the pod.
	AnnotationLost Event = "annotationLost"
)

// Transition says which phases an Event is legal in, and which one it leads to.
type Transition struct {
	Event Event
	From  []Phase
	To    Phase
}

// Transitions are all moves that are legal, those forward first.
func Transitions() []Transition { return slices.Clone(transitions) }

var transitions = []Transition{
	{Discover, []Phase{Pending}, Discovered},
	{FindJava, []Phase{Discovered}, JavaFound},
	{Stage, []Phase{JavaFound}, Staged},
	{Load, []Phase{Staged}, Loaded},
	{Expose, []Phase{Loaded}, Exposed},
	{Annotate, []Phase{Exposed}, Annotated},

	{Replaced, []Phase{JavaFound, Staged, Loaded, Exposed, Annotated}, Discovered},
	{ConfigChanged, []Phase{Staged, Loaded, Exposed, Annotated}, JavaFound},
	{AgentChanged, []Phase{Loaded, Exposed, Annotated}, Staged},
	{EndpointLost, []Phase{Exposed, Annotated}, Loaded},
	{AnnotationLost, []Phase{Annotated}, Exposed},
}

// Forward is the event that the step of a phase brings about.
func Forward(to Phase) Event {
	for _, t := range transitions {
		if t.To == to && t.To.Reached(t.From[0]) {
			return t.Event
		}
	}
	return ""
}
