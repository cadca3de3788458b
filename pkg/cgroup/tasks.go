package cgroup

// Tasks is the limit and the use of the control group with the fewest free tasks. A task
// is a process or a thread.
type Tasks struct {
	// Limit is pids.max, and Used pids.current.
	Limit, Used int64
}

// Free is how many tasks may still be started.
func (t Tasks) Free() int64 { return max(0, t.Limit-t.Used) }

// FreeTasks returns the tasks of the tightest control group that contains process pid.
// limited is false if none has a limit, or if none can be read.
func FreeTasks(pid int) (tasks Tasks, limited bool) { return files("/").freeTasks(pid) }

func (fs files) freeTasks(pid int) (tightest Tasks, limited bool) {
	for _, group := range fs.visible(pid, "pids") {
		if tasks, ok := group.tasks(); ok && (!limited || tasks.Free() < tightest.Free()) {
			tightest, limited = tasks, true
		}
	}
	return tightest, limited
}

// tasks reads one group. It returns false if the group has no limit or cannot be read.
func (g group) tasks() (Tasks, bool) {
	tasks := Tasks{Limit: g.number("pids.max"), Used: g.number("pids.current")}
	return tasks, tasks.Limit != unlimited && tasks.Used != unlimited
}
