package statemachine

import "github.com/looplab/fsm"

// Diagram draws the machine as a Mermaid state diagram.
func Diagram() (string, error) {
	return fsm.VisualizeForMermaidWithGraphType(newFSM(Pending), fsm.StateDiagram)
}
