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
	// argument is a regular expression (RE2) that must match the whole name of one option on
	// the command line, of the VM or of the application: an argument that begins with "-", up
	// to its first "=", such as -Drole of -Drole=worker. Other arguments are not compared, so a pattern that
	// cannot begin with "-" matches nothing.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`!self.contains("=")`,message="matches the names of options, which contain no =; to match an option with its value, use wholeArgument"
	Argument Pattern `json:"argument,omitempty"`
	// wholeArgument is a regular expression (RE2) that must match one whole argument of the
	// command line, with its value. Its result reveals something about values, which may be
	// secrets. So whoever writes it needs the right to create pods/exec, which can read the
	// command line as well. It is compared in the container; arguments never leave it. Of a
	// command line of more than 64 KiB, not all is compared: a rule that excludes matches if
	// the rest may match, one that includes does not.
	// +optional
	WholeArgument Pattern `json:"wholeArgument,omitempty"`
}

// Pattern is a regular expression in RE2 syntax.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule=`!self.matches("[{][0-9]*,?[0-9]{3}")`,message="must not repeat anything more than 99 times; use * or + instead"
// +kubebuilder:validation:XValidation:rule=`self.contains("{") || "".matches(self) in [true, false]`,message="must be a regular expression in RE2 syntax"
type Pattern string
