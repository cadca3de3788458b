package helperapi

// Memory is the tightest memory limit of a process, in bytes.
type Memory struct {
	// Limit is the limit itself.
	Limit int64 `json:"limit"`
	// Free is the memory that may still be used.
	Free int64 `json:"free"`
}

// PodMemory is the memory limit of a pod, in bytes, which a container's control groups do
// not show with what its other containers use.
type PodMemory struct {
	// Limit is the pod's limit.
	Limit int64 `json:"limit"`
	// Others is what the other containers may use: the sum of their limits.
	Others int64 `json:"others,omitempty"`
	// Unlimited is the name of another container that may use all of the pod's memory.
	Unlimited string `json:"unlimited,omitempty"`
}

// Available returns the memory of a container that the pod's limit leaves it. It is m itself
// for no limit.
func (p *PodMemory) Available(m Memory) Memory {
	if p == nil {
		return m
	}
	if left := p.Limit - p.Others - (m.Limit - m.Free); left < m.Free {
		return Memory{Limit: p.Limit, Free: max(0, left)}
	}
	return m
}

// Refusal returns why it cannot be known how much of the pod's memory is free; nil if it
// can.
func (p *PodMemory) Refusal() *Error {
	if p == nil || p.Unlimited == "" {
		return nil
	}
	return Errorf(ReasonInsufficientMemory, "The container shares the memory limit of the pod (spec.resources) of %d MiB with container %s, which has no limit of its own and may use all of it. Give that container a memory limit, or set spec.memoryHeadroom to 0.", p.Limit>>20, p.Unlimited)
}
