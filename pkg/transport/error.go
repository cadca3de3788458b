package transport

// Error is the reason why an operation or a session failed.
type Error struct {
	// Reason is a condition reason of apis/v1alpha1.
	Reason string
	// Message is one sentence, which stays the same across retries.
	Message string
	// Err is the cause; nil if the helper reported the failure.
	Err error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
