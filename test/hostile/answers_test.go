//go:build linux

package hostile

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// after is a program that sends a hello, reads a call, and then does what the row adds.
const after = `echo
echo '{"hello":{"version":"1"}}'
while read -r line; do case $line in '{'*) break ;; esac; done
`

// reports is a program that answers with a report.
func reports(report string) string {
	return after + "cat <<'end'\n" + `{"id":1,"report":` + report + "}\nend\n" + "cat >/dev/null\n"
}

// nasty must never reach a terminal or a status unescaped: colors, NUL, C1 control
// characters, right-to-left text, and as raw bytes, invalid UTF-8.
const nasty = `\u001b[31mred\u001b]0;title\u0007 \u0000 \u009b2J \u202egnp.exe\u2066 ` + "\xff\xfe"

// A hostile program answers in place of the helper.
func TestAnswers(t *testing.T) {
	const failed, silent, late = v1alpha1.ReasonHelperFailed, v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonExecTimeout
	onlyExec := []v1alpha1.Transport{exec_}
	jar := transport.NewBlob("agent-", []byte(strings.Repeat("jar", 1<<20)), ".jar")
	stage := call{verb: helperapi.VerbStage, request: helperapi.Request{Files: []helperapi.File{jar.File}}, blobs: []transport.Blob{jar}}
	test(t, map[string]row{
		// Before the hello.
		"the program is silent":                                      {program: `exec sleep 1000`, reason: silent},
		"the program closes its output":                              {program: `exec >&- 2>&-; exec sleep 1000`, reason: silent},
		"the program closes its input":                               {program: `exec <&-; exec sleep 1000`, reason: silent},
		"the program exits at once":                                  {program: `exit 0`, reason: failed},
		"the program is killed":                                      {program: `kill -9 $$`, reason: v1alpha1.ReasonHelperKilled},
		"the program exits with an unknown code":                     {program: `exit 254`, reason: failed},
		"the program prints lines endlessly":                         {program: `exec yes x`, reason: failed},
		"the program prints empty lines endlessly":                   {program: `exec yes ""`, reason: failed},
		"the program prints an endless line":                         {program: `exec tr '\0' x </dev/zero`, reason: failed},
		"the program prints NUL bytes endlessly":                     {program: `exec cat /dev/zero`, reason: failed},
		"the program prints random bytes endlessly":                  {program: `exec cat /dev/urandom`, reason: failed},
		"the program prints errors endlessly":                        {program: `exec yes x >&2`, reason: failed, nodeReason: silent},
		"the program prints lines after the end":                     {program: `echo jmx-attach end; exec yes x`, reason: failed},
		"the program does not exit after the end":                    {program: `echo jmx-attach end; exec sleep 1000`, reason: silent},
		"the program prints unsafe errors":                           {program: `printf '\033[31mred\000\r\342\200\256gnp.exe\377' >&2; exit 3`, reason: failed},
		"the program requests the helper of an unknown architecture": {by: onlyExec, program: `echo jmx-attach send z80; cat >/dev/null`, reason: failed},
		"the program requests the helper repeatedly":                 {by: onlyExec, program: `exec yes jmx-attach send x86_64`, reason: failed},
		"the program reads the helper and never runs it":             {by: onlyExec, program: `echo jmx-attach send x86_64; cat >/dev/null`, reason: silent},
		"the program requests the helper and never reads it":         {by: onlyExec, program: `echo jmx-attach send x86_64; exec sleep 1000`, reason: silent},
		"the hello is that of another container":                     {program: `echo '{"hello":{"version":"1","containerID":"` + strings.Repeat("ef", 32) + `"}}'; cat >/dev/null`, reason: v1alpha1.ReasonReplaced, doorReason: late, nodeReason: late},
		"the hello has a version of 1 MB":                            {program: `printf '{"hello":{"version":"'; head -c 1000000 /dev/zero | tr '\0' 1; echo '"}}'; cat >/dev/null`, reason: failed},

		// Instead of an answer.
		"there is no answer":                        {program: after + `exec sleep 1000`, reason: late},
		"the answer has no newline":                 {program: after + `printf '{"id":1,"report":{}}'; exec sleep 1000`, reason: late},
		"the answer is incomplete":                  {program: after + `printf '{"id":1,'`, reason: failed},
		"the answer is endless":                     {program: after + `printf '{"id":1,"report":{"helperVersion":"'; exec tr '\0' x </dev/zero`, reason: failed},
		"the answer is NUL bytes":                   {program: after + `exec cat /dev/zero`, reason: failed},
		"the answer is empty lines":                 {program: after + `exec yes ""`, reason: failed},
		"the answer is no JSON":                     {program: after + `exec yes hello`, reason: failed},
		"the answer is for another call":            {program: after + `echo '{"id":7,"report":{}}'; cat >/dev/null`, reason: failed},
		"the answer has 100000 levels":              {program: after + `printf '{"id":1,"report":'; head -c 100000 /dev/zero | tr '\0' '['; echo; cat >/dev/null`, reason: failed},
		"errors are printed instead of an answer":   {program: after + `exec yes x >&2`, reason: failed, nodeReason: late},
		"files of an impossible size are requested": {program: after + `echo '{"id":1,"send":9223372036854775807}'; cat >/dev/null`, reason: failed},
		"files are requested and never read":        {call: stage, program: after + `echo '{"id":1,"send":3145728}'; exit 0`, reason: failed},
		"files are requested twice":                 {call: stage, program: after + `echo '{"id":1,"send":3145728}'; echo '{"id":1,"send":3145728}'; cat >/dev/null`, reason: failed},

		// An answer that must not be trusted.
		"a number is out of range":                   {program: reports(`{"processes":[{"pid":1e400}]}`), reason: failed},
		"a PID has more than 32 bits":                {program: reports(`{"processes":[{"pid":4294967303,"startTime":1}]}`), reason: failed},
		"a PID is negative":                          {program: reports(`{"processes":[{"pid":-1,"startTime":1}]}`), reason: failed},
		"a start time has more than 63 bits":         {program: reports(`{"processes":[{"pid":7,"startTime":18446744073709551615}]}`), reason: failed},
		"a port has more than 16 bits":               {program: reports(`{"processes":[{"pid":7,"startTime":1,"mark":{"state":"running","port":70000}}]}`), reason: failed},
		"the stock exporter's port is negative":      {program: reports(`{"processes":[{"pid":7,"startTime":1,"exporter":{"port":-2}}]}`), reason: failed},
		"a process is listed twice":                  {program: reports(`{"processes":[{"pid":7,"startTime":1},{"pid":7,"startTime":1}]}`), reason: failed},
		"memory is negative":                         {program: reports(`{"processes":[{"pid":7,"startTime":1,"memory":{"limit":-1,"free":-9223372036854775808}}]}`), reason: failed},
		"a reason is unknown":                        {program: reports(`{"error":{"reason":"Pwned","message":"x"}}`), reason: failed},
		"a message has 100 KB":                       {program: reports(`{"error":{"reason":"Busy","message":"` + strings.Repeat("x", 100_000) + `"}}`), reason: v1alpha1.ReasonBusy},
		"a message has unsafe characters":            {program: reports(`{"error":{"reason":"Busy","message":"` + nasty + `"}}`), reason: v1alpha1.ReasonBusy},
		"a refusal and names have unsafe characters": {program: reports(`{"processes":[{"pid":7,"startTime":1,"vendor":"` + nasty + `","version":"` + nasty + `","mainClass":"` + nasty + `","implementation":"` + nasty + `","warning":"` + nasty + `","refusal":{"reason":"Busy","message":"` + nasty + `"},"mark":{"state":"running","agent":"` + nasty + `","port":1,"message":"` + nasty + `"}}]}`), check: wantClean},
		"the processes fill the largest answer":      {program: after + `printf '{"id":1,"report":{"processes":['; for i in {1..9000}; do printf '{"pid":%d,"startTime":1},' $i; done; echo '{"pid":10000,"startTime":1}]}}'; cat >/dev/null`},
	})
}

// wantClean checks that all of a report is safe to print on a terminal.
func wantClean(t *testing.T, report *helperapi.Report, _ error) {
	t.Helper()
	if report == nil || len(report.Processes) != 1 {
		t.Fatalf("unexpected report: %+v", report)
	}
	p := report.Processes[0]
	for _, text := range []string{p.Vendor, p.Version, p.MainClass, p.Implementation, p.Warning, p.Refusal.Message, p.Mark.Agent, p.Mark.Message} {
		wantPrintable(t, text)
	}
}
