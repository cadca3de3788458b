package output

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Terminal reports whether a stream is a terminal.
func Terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Progress says on a stream for errors how far something is that takes time. On a
// terminal, its line is rewritten; elsewhere, as in a log, only what changes is printed.
type Progress struct {
	to       io.Writer
	mutex    sync.Mutex
	last     string
	terminal bool
}

// NewProgress returns a Progress on a stream.
func NewProgress(to io.Writer) *Progress { return &Progress{to: to, terminal: Terminal(to)} }

// Say replaces what was said before.
func (p *Progress) Say(format string, args ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	said := fmt.Sprintf(format, args...)
	switch {
	case said == p.last:
	case p.terminal:
		fmt.Fprintf(p.to, "\r\x1b[K%s", said)
	default:
		fmt.Fprintln(p.to, said)
	}
	p.last = said
}

// Done ends the line.
func (p *Progress) Done() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.terminal && p.last != "" {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
	p.last = ""
}
