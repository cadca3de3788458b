package output

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"banzaicloud.com/jmx-exporter-operator/pkg/terminal"
)

// Terminal reports whether a stream is a terminal.
func Terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Progress says on a stream for errors how far something is that takes time. On a
// terminal, its line is rewritten.
type Progress struct {
	to       io.Writer
	mutex    sync.Mutex
	terminal bool
}

// NewProgress returns a Progress on a stream.
func NewProgress(to io.Writer) *Progress { return &Progress{to: to, terminal: Terminal(to)} }

// Say says what begins.
func (p *Progress) Say(format string, args ...any) {
	if p.terminal {
		p.Update(format, args...)
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintln(p.to, terminal.Line(fmt.Sprintf(format, args...)))
}

// Update says how far it is; only on a terminal, because elsewhere, as in the log of a
// pipeline, each would be a line.
func (p *Progress) Update(format string, args ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.terminal {
		fmt.Fprint(p.to, erase+terminal.Line(fmt.Sprintf(format, args...)))
	}
}

// Done ends the line.
func (p *Progress) Done() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.terminal {
		fmt.Fprint(p.to, erase)
	}
}

// erase erases the line of a terminal.
const erase = "\r\x1b[K"
