package kinds

// Attribute is the key of the attribute of a test that has a Result, as JSON.
const Attribute = "kind"

// Result is what became of a kind of pod on the cluster.
type Result struct {
	// Kind is its name.
	Kind string
	// Transport is the one that was taken.
	Transport string
	// Outcome is the phase that was reached, or the reason why it was not.
	Outcome string
	// Message is what the record says of it.
	Message string
}
