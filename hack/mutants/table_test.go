package mutants

const (
	steps     = "pkg/steps"
	directory = "internal/helper/directory/"
)

// ofWork are one for each rule whose violation would harm an application or somebody's
// monitoring, with the narrowest test that notices.
var ofWork = []mutant{
	{
		"a write is for the pod with this UID, not for a later one of its name",
		"pkg/apply/records/pod.go", "WithUID(pod.UID).WithAnnotations", "WithAnnotations",
		named{"test/integration", "TestGone"},
	},
	{
		"a delete is for the object with this UID",
		"pkg/apply/client.go", ", client.Preconditions{UID: new(obj.GetUID())}", "",
		named{"test/integration", "TestGone"},
	},
	{
		"a status is written only over the version that was read",
		"pkg/apply/status.go", ".WithResourceVersion(object.GetResourceVersion())", "",
		named{"test/integration", "TestGone"},
	},
	{
		"annotations of a pod are never forced",
		"pkg/apply/client.go", "return c.client.Apply(ctx, ac, owner)\n", "return c.client.Apply(ctx, ac, owner, client.ForceOwnership)\n",
		named{"test/integration", "TestConflictNamesTheManager"},
	},
	{
		"the helper is told the UID of the pod that it is meant for",
		"pkg/transport/session.go", "string(s.in.PodUID), s.target", `"", s.target`,
		named{"pkg/transport", "TestSession"},
	},
	{
		"the script installs nothing in another pod",
		"pkg/transport/script.go", "*) end $wrong_pod ;;", "*) ;;",
		named{"pkg/transport", "TestScript"},
	},
	{
		"the script runs a helper only if its digest is right",
		"pkg/transport/script.go", "*) end $cut ;;", "*) ;;",
		named{"pkg/transport", "TestScript"},
	},
	{
		"a file gets its name only if its digest is right",
		directory + "files.go", "size == file.Size && sum == file.SHA256 {", "size == file.Size {",
		named{"internal/helper", "TestStageBroken"},
	},
	{
		"a JVM reads only files whose digest is right",
		directory + "files.go", "|| !strings.HasPrefix(sum, file.sum) {", "|| !strings.HasPrefix(sum, file.sum) && sum == file.name {",
		named{"internal/helper", "TestWholeDigest"},
	},
	{
		"files of other users are not trusted",
		directory + "trust.go", "!slices.Contains(t.owners, owner)", "!slices.Contains(t.owners, owner) && owner < 0",
		named{"internal/helper", "TestFilesOfOthers"},
	},
	{
		"one helper at a time works on a JVM",
		directory + "lock.go", "err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)", "var err error; _ = f.Fd",
		named{"internal/helper", "TestBusy"},
	},
	{
		"a helper that waited for another one does not undo its change",
		directory + "lock.go", "|| !sameFile(t.desired, t.dir.desired(t.process))", "",
		named{"internal/helper/directory", "TestLockAfterAnother"},
	},
	{
		"a helper that waited for another one does not undo what that one found as desired",
		directory + "lock.go", "|| !info.ModTime().Equal(t.confirmed)", "|| info == nil",
		named{"internal/helper/directory", "TestLockAfterAnother"},
	},
	{
		"a load is recorded before it begins",
		steps + "/load.go", "p.Intent = &intent\n", "_ = intent\n",
		named{steps, "TestAnnounce"},
	},
	{
		"the record is written before an effect",
		"pkg/statemachine/walk.go", "if _, ok := step.(Observer); !ok {", "if false {",
		named{"pkg/statemachine", "TestFaults"},
	},
	{
		"what failed is not tried again before its time",
		"pkg/statemachine/state.go", "a.NextTime != nil && now.Before(a.NextTime.Time)", "false",
		named{"pkg/statemachine", "TestBlockedAndRequeueAfter"},
	},
	{
		"a JVM that does not catch SIGQUIT gets none",
		"pkg/jvm/refusal.go", "case p.catchesQuit():", "case true:",
		named{"pkg/jvm", "TestSignalsReduced"},
	},
	{
		"a JVM gets one SIGQUIT at most",
		"pkg/jvm/announcement.go", "return p.wasSignaled(tmp) || ", "return ",
		named{"pkg/jvm", "TestSignalledOnce"},
	},
	{
		"the process that is signaled is the one that was inspected",
		"pkg/jvm/attach.go", "case now.StartTime != p.StartTime:", "case false:",
		named{"pkg/jvm", "TestNeverSignalled"},
	},
	{
		"the signal mask is looked at again right before the signal",
		"pkg/jvm/attach.go", " || !now.CatchesQuit || ", " || ",
		named{"pkg/jvm", "TestLastLookBeforeSignal"},
	},
	{
		"pods that share the node's processes are protected",
		"pkg/pod/powers.go", "return c.pod.Spec.HostPID }", "return false }",
		named{steps, "TestPodProtected"},
	},
	{
		"privileged containers are protected",
		"pkg/pod/powers.go", "ptr.Deref(c.container.SecurityContext.Privileged, false)", "ptr.Deref(nil, false)",
		named{steps, "TestPodProtected"},
	},
	{
		"containers with the powers of others are protected",
		"pkg/pod/protection.go", "for _, other := range sharingProcesses(pod, name) {", "for _, other := range sharingProcesses(pod, name)[:0] {",
		named{steps, "TestPodProtected"},
	},
	{
		"a capability that is not known to be harmless is a power over the node",
		"pkg/power/capabilities.go", "return !slices.Contains(OrdinaryCapabilities(), name)", `return name == "SYS_ADMIN"`,
		named{"pkg/pod", "TestCapabilities"},
	},
	{
		"a volume above the node's system has power over the node",
		"pkg/power/paths.go", "if Covers(mounted, p.Path) && p.gives(readOnly) {", "if mounted == p.Path && p.gives(readOnly) {",
		named{"pkg/pod", "TestHostPaths"},
	},
	{
		"the rights of whoever wrote the exporter are asked for",
		"internal/controller/authority/authority.go", "allowed = answer.Status.Allowed\n", "allowed = true\n",
		named{"internal/controller/authority", "TestMayAttach"},
	},
	{
		"without an answer about rights, nothing is attached",
		steps + "/authorized.go", "case err != nil:\n\t\treturn new(failed(err))", "case err != nil:\n\t\treturn nil",
		named{steps, "TestNotAuthorized"},
	},
	{
		"a rollout changes no more pods at once than it may",
		"internal/controller/exporter/rollout.go", "r.limits.MaxConcurrent - underWay\n", "r.limits.MaxConcurrent\n",
		named{"internal/controller/exporter", "TestGrants"},
	},
	{
		"canaries come first",
		"internal/controller/exporter/rollout.go", "- canaries; missing > 0 {", "- canaries; missing > 99 {",
		named{"internal/controller/exporter", "TestGrants"},
	},
	{
		"a rollout that is halted grants nothing",
		"internal/controller/exporter/rollout.go", "if r.halt != nil || broken ||", "if broken ||",
		named{"internal/controller/exporter", "TestGrants"},
	},
	{
		"an exit soon after an attach is noticed",
		steps + "/restart.go", "if after >= window ||", "if after >= 0 ||",
		named{steps, "TestRestartOf"},
	},
	{
		"an endpoint is withdrawn before its agent is stopped",
		steps + "/expose.go", "if record.MayHaveAgent(p) && j.withdrawing() &&", "if false &&",
		named{steps, "TestUnexpose"},
	},
	{
		"nothing is done while the CRDs lack what is recorded",
		"internal/controller/crds/gate.go", `if outdated := g.Outdated(); outdated != "" {
		return &enqueue`, `if outdated := g.Outdated(); false {
		return &enqueue`,
		named{"internal/controller/crds", "TestHoldsWhileOutdated"},
	},
	{
		"nothing is done before the CRDs are read",
		"internal/controller/crds/gate.go", "if err := g.Unread(); err != nil {", "if err := g.Unread(); false {",
		named{"internal/controller/crds", "TestHoldsWhileOutdated"},
	},
	{
		"an exporter that is not known in full holds its namespace",
		"internal/controller/crds/gate.go", `why != "" {`, `false {`,
		named{"internal/controller/crds", "TestHoldsUnknownSpecs"},
	},
	{
		"what is held is not reconciled",
		"internal/controller/enqueue/queue.go", "return ctrl.Result{RequeueAfter: hold.RetryAfter}, false, nil", "return ctrl.Result{}, true, err",
		named{"internal/controller/enqueue", "TestGate"},
	},
	{
		"a status is not written where that erases a part of the spec",
		"internal/controller/exporter/hold.go", "(len(managed) == 0 || slices.ContainsFunc(managed, sets))", "slices.ContainsFunc(managed[:0], sets)",
		named{"internal/controller/exporter", "TestSetAmong"},
	},
	{
		"a pod is detached only if the API server confirms that it is to be",
		"internal/controller/attachment/subjects.go", "|| attachment.Status.DetachStartTime != nil {", "|| true {",
		named{"internal/controller/attachment", "TestDetachConfirms"},
	},
	{
		"a pod that has opted out is left alone",
		"internal/controller/selection/selection.go", `pod.Annotations[v1alpha1.AnnotationOptOut] != "true" && `, "",
		named{"internal/controller/selection", "TestMatched"},
	},
	{
		"a pod has one owner, the oldest exporter",
		"internal/controller/selection/selection.go", "(owner == nil || precedes(e, owner))", "true",
		named{"internal/controller/selection", "TestOwner"},
	},
	{
		"no more execs at once than the limit",
		"pkg/transport/shares.go", "return working < places\n", "return true\n",
		named{"pkg/transport", "TestLimits"},
	},
	{
		"a container that has just started is left alone",
		steps + "/due.go", "0 <= age && age < minAge {", "age < 0 {",
		named{steps, "TestTooYoung"},
	},
	{
		"times of a leader whose clock was ahead are not waited for",
		"pkg/record/ahead.go", "> statemachine.MaxBackoff+time.Second {", "> 99*statemachine.MaxBackoff {",
		named{"pkg/record", "TestNotAhead"},
	},
	{
		"a load whose outcome is unknown is requested again",
		steps + "/jvm.go", "p.Port != 0 && loadAnswered(p) &&", "p.Port != 0 &&",
		named{steps, "TestLoad"},
	},
	{
		"an object whose kind is not served is not gone",
		"pkg/apply/gone.go", "apierrors.IsNotFound(err) && !isUnserved(err) ||", "apierrors.IsNotFound(err) ||",
		named{"pkg/apply", "TestGoneOrUnserved"},
	},
}
