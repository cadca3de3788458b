package v1alpha1

// ContainerName is the name of a container: a DNS label.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type ContainerName string

// RuleAction is what a rule does with the processes that it matches.
//
// +kubebuilder:validation:Enum=Include;Exclude
type RuleAction string

const (
	// RuleInclude: attach to it.
	RuleInclude RuleAction = "Include"
	// RuleExclude: skip it.
	RuleExclude RuleAction = "Exclude"
)

// ProcessRule includes or excludes Java processes. It matches a process for which
// all that it names matches; one that names nothing matches every process.
type ProcessRule struct {
	// action is what to do with a process that matches.
	// +required
	Action RuleAction `json:"action"`
	// mainClass is a regular expression (RE2) for the whole of the main class,
	// or of the name of the jar or module that is run.
	// +optional
	MainClass Pattern `json:"mainClass,omitempty"`
	// argument is a regular expression (RE2) for the whole of any one argument
	// of the command line, Java's own options among them. It is compared in the
	// container, which the arguments never leave.
	// +optional
	Argument Pattern `json:"argument,omitempty"`
}

// Pattern is a regular expression in the syntax of RE2.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule=`"".matches(self) in [true, false]`,message="not a regular expression in the syntax of RE2"
type Pattern string
