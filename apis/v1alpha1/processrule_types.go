package v1alpha1

// ContainerName is the name of a container: a DNS label.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type ContainerName string

// RuleAction is the action of a rule for matching processes.
//
// +kubebuilder:validation:Enum=Include;Exclude
type RuleAction string

const (
	// RuleInclude attaches to the process.
	RuleInclude RuleAction = "Include"
	// RuleExclude skips the process.
	RuleExclude RuleAction = "Exclude"
)

// ProcessRule includes or excludes Java processes. A process must match all patterns of
// a rule; a rule without patterns matches every process.
type ProcessRule struct {
	// action is the action for matching processes.
	// +required
	Action RuleAction `json:"action"`
	// mainClass is a regular expression (RE2) that must match the whole main class, or
	// the whole name of the jar or module that is run.
	// +optional
	MainClass Pattern `json:"mainClass,omitempty"`
	// argument is a regular expression (RE2) that must match one whole argument of the
	// command line, including options of the VM. It is compared in the container;
	// arguments never leave it.
	// +optional
	Argument Pattern `json:"argument,omitempty"`
}

// Pattern is a regular expression in RE2 syntax.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule=`"".matches(self) in [true, false]`,message="must be a regular expression in RE2 syntax"
type Pattern string
