//go:build linux

package hostile

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// after is a program that says hello, takes a call, and then does what the row says.
const after = `echo
echo '{"hello":{"version":"1"}}'
while read -r line; do case $line in '{'*) break ;; esac; done
`

// reports is one that answers with a report.
func reports(report string) string {
	return after + "cat <<'end'\n" + `{"id":1,"report":` + report + "}\nend\n" + "cat >/dev/null\n"
}

// nasty is what nobody wants on a terminal or in a record: colors, NUL, C1 control
// characters, a text that runs backwards, and in raw bytes, invalid UTF-8.
const nasty = `\u001b[31mred\u001b]0;title\u0007 \u0000 \u009b2J \u202egnp.exe\u2066 ` + "\xff\xfe"

// Whatever answers in the place of the helper.
func TestAnswers(t *testing.T) {
	const failed, silent, late = v1alpha1.ReasonHelperFailed, v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonExecTimeout
	onlyExec := []v1alpha1.Transport{exec_}
	jar := transport.NewBlob("agent-", []byte(strings.Repeat("jar", 1<<20)), ".jar")
	stage := call{verb: helperapi.VerbStage, request: helperapi.Request{Files: []helperapi.File{jar.File}}, blobs: []transport.Blob{jar}}
	test(t, map[string]row{
		// Before it says hello.
		"nothing at all":                    {program: `exec sleep 1000`, reason: silent},
		"its output is closed":              {program: `exec >&- 2>&-; exec sleep 1000`, reason: silent},
		"its input is closed":               {program: `exec <&-; exec sleep 1000`, reason: silent},
		"it ends at once":                   {program: `exit 0`, reason: failed},
		"it is killed":                      {program: `kill -9 $$`, reason: failed},
		"an exit code that nobody knows":    {program: `exit 254`, reason: failed},
		"lines without end":                 {program: `exec yes x`, reason: failed},
		"empty lines without end":           {program: `exec yes ""`, reason: failed},
		"a line without end":                {program: `exec tr '\0' x </dev/zero`, reason: failed},
		"NUL without end":                   {program: `exec cat /dev/zero`, reason: failed},
		"noise without end":                 {program: `exec cat /dev/urandom`, reason: failed},
		"errors without end":                {program: `exec yes x >&2`, reason: failed},
		"an end, and lines after it":        {program: `echo jmx-attach end; exec yes x`, reason: failed},
		"an end that does not come":         {program: `echo jmx-attach end; exec sleep 1000`, reason: silent},
		"nasty errors":                      {program: `printf '\033[31mred\000\r\342\200\256gnp.exe\377' >&2; exit 3`, reason: failed},
		"a machine that nobody knows":       {by: onlyExec, program: `echo jmx-attach send z80; cat >/dev/null`, reason: failed},
		"the helper repeatedly":             {by: onlyExec, program: `exec yes jmx-attach send x86_64`, reason: failed},
		"the helper, which is never run":    {by: onlyExec, program: `echo jmx-attach send x86_64; cat >/dev/null`, reason: silent},
		"the helper, which nobody reads":    {by: onlyExec, program: `echo jmx-attach send x86_64; exec sleep 1000`, reason: silent},
		"the hello of somebody else":        {program: `echo '{"hello":{"version":"1","containerID":"` + strings.Repeat("ef", 32) + `"}}'; cat >/dev/null`, reason: v1alpha1.ReasonReplaced, doorReason: late},
		"a hello that has 1 MB of versions": {program: `printf '{"hello":{"version":"'; head -c 1000000 /dev/zero | tr '\0' 1; echo '"}}'; cat >/dev/null`, reason: failed},

		// Instead of an answer.
		"no answer":                   {program: after + `exec sleep 1000`, reason: late},
		"an answer without newline":   {program: after + `printf '{"id":1,"report":{}}'; exec sleep 1000`, reason: late},
		"half an answer":              {program: after + `printf '{"id":1,'`, reason: failed},
		"an answer without end":       {program: after + `printf '{"id":1,"report":{"helperVersion":"'; exec tr '\0' x </dev/zero`, reason: failed},
		"answers in NUL":              {program: after + `exec cat /dev/zero`, reason: failed},
		"answers of empty lines":      {program: after + `exec yes ""`, reason: failed},
		"answers that are no JSON":    {program: after + `exec yes hello`, reason: failed},
		"an answer to another call":   {program: after + `echo '{"id":7,"report":{}}'; cat >/dev/null`, reason: failed},
		"an answer of 100000 levels":  {program: after + `printf '{"id":1,"report":'; head -c 100000 /dev/zero | tr '\0' '['; echo; cat >/dev/null`, reason: failed},
		"errors instead of an answer": {program: after + `exec yes x >&2`, reason: failed},
		"files that nobody sends":     {program: after + `echo '{"id":1,"send":9223372036854775807}'; cat >/dev/null`, reason: failed},
		"files that nobody reads":     {call: stage, program: after + `echo '{"id":1,"send":3145728}'; exit 0`, reason: failed},
		"files that are asked twice":  {call: stage, program: after + `echo '{"id":1,"send":3145728}'; echo '{"id":1,"send":3145728}'; cat >/dev/null`, reason: failed},

		// An answer that is not to be believed.
		"huge numbers":                  {program: reports(`{"processes":[{"pid":1e400}]}`), reason: failed},
		"a PID beyond 32 bits":          {program: reports(`{"processes":[{"pid":4294967303,"startTime":1}]}`), reason: failed},
		"a PID of no process":           {program: reports(`{"processes":[{"pid":-1,"startTime":1}]}`), reason: failed},
		"a start time beyond 63 bits":   {program: reports(`{"processes":[{"pid":7,"startTime":18446744073709551615}]}`), reason: failed},
		"a port beyond 16 bits":         {program: reports(`{"processes":[{"pid":7,"startTime":1,"mark":{"state":"running","port":70000}}]}`), reason: failed},
		"a port of no stock exporter":   {program: reports(`{"processes":[{"pid":7,"startTime":1,"exporter":{"port":-2}}]}`), reason: failed},
		"the same process twice":        {program: reports(`{"processes":[{"pid":7,"startTime":1},{"pid":7,"startTime":1}]}`), reason: failed},
		"memory below zero":             {program: reports(`{"processes":[{"pid":7,"startTime":1,"memory":{"limit":-1,"free":-9223372036854775808}}]}`), reason: failed},
		"a reason that nobody knows":    {program: reports(`{"error":{"reason":"Pwned","message":"x"}}`), reason: failed},
		"a sentence of 100 KB":          {program: reports(`{"error":{"reason":"Busy","message":"` + strings.Repeat("x", 100_000) + `"}}`), reason: v1alpha1.ReasonBusy},
		"a nasty sentence":              {program: reports(`{"error":{"reason":"Busy","message":"` + nasty + `"}}`), reason: v1alpha1.ReasonBusy},
		"a nasty refusal, and names":    {program: reports(`{"processes":[{"pid":7,"startTime":1,"vendor":"` + nasty + `","version":"` + nasty + `","mainClass":"` + nasty + `","implementation":"` + nasty + `","warning":"` + nasty + `","refusal":{"reason":"Busy","message":"` + nasty + `"},"mark":{"state":"running","agent":"` + nasty + `","port":1,"message":"` + nasty + `"}}]}`), check: wantClean},
		"processes that fill an answer": {program: after + `printf '{"id":1,"report":{"processes":['; for i in {1..9000}; do printf '{"pid":%d,"startTime":1},' $i; done; echo '{"pid":10000,"startTime":1}]}}'; cat >/dev/null`},
	})
}

// wantClean makes sure that all of a report can be read on a terminal.
func wantClean(t *testing.T, report *helperapi.Report, _ error) {
	t.Helper()
	if report == nil || len(report.Processes) != 1 {
		t.Fatalf("the report is %+v", report)
	}
	p := report.Processes[0]
	for _, text := range []string{p.Vendor, p.Version, p.MainClass, p.Implementation, p.Warning, p.Refusal.Message, p.Mark.Agent, p.Mark.Message} {
		wantPrintable(t, text)
	}
}
