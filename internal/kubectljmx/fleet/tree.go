package fleet

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/xlab/treeprint"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/advice"
	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Print writes the exporters as trees of pods and JVMs.
func Print(w io.Writer, fleet []Exporter) {
	for i, e := range fleet {
		if i > 0 {
			fmt.Fprintln(w)
		}
		tree := treeprint.NewWithRoot(e.line())
		explain(tree, e.Verdict)
		for _, n := range e.Notices {
			explain(tree, n)
		}
		for _, p := range e.Pods {
			p.add(tree)
		}
		for _, p := range e.NotRunning {
			branch := tree.AddBranch(line("pod "+p.Pod, "not running", containerOf(p), p.Reason))
			detail(branch, "message", p.Message)
			detail(branch, "docs", p.Docs)
		}
		fmt.Fprint(w, tree.String())
	}
}

func (e Exporter) line() string {
	mode := ""
	if e.Mode == v1alpha1.ModePreflight {
		mode = "mode Preflight"
	}
	suspended := ""
	if e.Suspended {
		suspended = "suspended"
	}
	annotated := ""
	if e.Annotated != "" {
		annotated = e.Annotated + " pods annotated"
	}
	return line("exporter "+e.Namespace+"/"+e.Name, string(cmp.Or(e.Phase, v1alpha1.PhasePending)), annotated, mode, suspended, e.Reason)
}

func containerOf(p NotRunning) string {
	if p.Container == "" {
		return ""
	}
	return "container " + p.Container
}

func (p Pod) add(tree treeprint.Tree) {
	branch := tree.AddBranch(line("pod "+p.Name, string(cmp.Or(p.Phase, v1alpha1.PhasePending)), p.Reason))
	explain(branch, p.Verdict)
	for _, n := range p.Notices {
		explain(branch, n)
	}
	for _, jvm := range p.JVMs {
		node := branch.AddBranch(jvm.line(len(p.JVMs) > 1))
		// Of a single JVM, the pod says the same.
		if jvm.Reason != "" && jvm.Reason != p.Reason {
			detail(node, "message", jvm.Message)
			detail(node, "docs", advice.Link(jvm.Reason))
		}
	}
}

func (j JVM) line(several bool) string {
	port, primary, excluded := "", "", ""
	if j.Port != 0 {
		port = fmt.Sprintf("port %d", j.Port)
	}
	if j.Primary && several {
		primary = "primary"
	}
	if j.Excluded {
		excluded = "excluded"
	}
	return line(fmt.Sprintf("JVM %s/%d", j.Container, j.PID), string(j.Phase), strings.TrimSpace(j.VM+" "+j.Version), j.MainClass, port, primary, excluded, j.Reason)
}

// explain adds what is the case, and what to do.
func explain(tree treeprint.Tree, v advice.Verdict) {
	detail(tree, "message", v.Message)
	detail(tree, "next", v.Next)
	detail(tree, "docs", v.Docs)
}

func detail(tree treeprint.Tree, name, text string) {
	if text != "" {
		tree.AddNode(terminal.Line(fmt.Sprintf("%-8s %s", name+":", text)))
	}
}

// line joins what is not empty.
func line(parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, terminal.Line(part))
		}
	}
	return strings.Join(there, "  ")
}
