package source

import (
	"container/list"
	"sync"
	"time"
)

// Limits of what is kept of files that containers get.
const (
	// memoryLimit is the size of all contents that are kept, in bytes: 64 of the largest
	// configurations, or some thousands of usual ones (docs/design/0022-memory-of-contents.md).
	memoryLimit = 16 << 20
	// memoryIdle is how long a content is kept that no container gets. The pods of a rollout
	// follow each other sooner.
	memoryIdle = 10 * time.Minute
	// entrySize is what a content counts in addition to its bytes.
	entrySize = 512
)

// memory keeps contents, once for each namespace and digest. If they exceed the limit, the
// namespace with the most bytes loses the content that was used least recently. So one that has
// no more than its part, which is the limit divided by the number of namespaces, loses nothing
// to others. The zero value keeps nothing.
type memory struct {
	limit int
	idle  time.Duration

	mu    sync.Mutex
	size  int
	parts map[string]*part // by namespace
}

// part is what one namespace has of the memory.
type part struct {
	size     int
	contents map[string]*list.Element // of *cachedContent, by digest
	recent   list.List                // of *cachedContent, the one that was used last at the front
}

// cachedContent is a content in memory.
type cachedContent struct {
	digest  string
	content []byte
	expire  *time.Timer
}

func (c *cachedContent) size() int { return len(c.content) + entrySize }

// get returns a content, if it is in memory.
func (m *memory) get(namespace, digest string) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parts[namespace]
	if p == nil || p.contents[digest] == nil {
		return nil, false
	}
	c := p.use(p.contents[digest])
	c.expire.Reset(m.idle)
	return c.content, true
}

// put keeps a content.
func (m *memory) put(namespace, digest string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.parts[namespace]
	if p == nil {
		p = &part{contents: map[string]*list.Element{}}
		if m.parts == nil {
			m.parts = map[string]*part{}
		}
		m.parts[namespace] = p
	}
	if p.contents[digest] != nil { // read again, which is no use of it
		return
	}
	c := &cachedContent{digest: digest, content: content}
	element := p.recent.PushFront(c)
	c.expire = time.AfterFunc(m.idle, func() { m.drop(namespace, element) })
	p.contents[digest] = element
	p.size += c.size()
	for m.size += c.size(); m.size > m.limit; {
		largest := m.largest()
		m.remove(largest, m.parts[largest].recent.Back())
	}
}

// use makes a content the one that was used last.
func (p *part) use(element *list.Element) *cachedContent {
	p.recent.MoveToFront(element)
	return element.Value.(*cachedContent)
}

// drop removes a content, unless that was done before.
func (m *memory) drop(namespace string, element *list.Element) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.parts[namespace]; p != nil && p.contents[element.Value.(*cachedContent).digest] == element {
		m.remove(namespace, element)
	}
}

// remove removes a content. The caller holds m.mu.
func (m *memory) remove(namespace string, element *list.Element) {
	p, c := m.parts[namespace], element.Value.(*cachedContent)
	c.expire.Stop()
	delete(p.contents, c.digest)
	p.recent.Remove(element)
	p.size -= c.size()
	m.size -= c.size()
	c.content = nil // the runtime may keep the timer for long, and with it c
	if len(p.contents) == 0 {
		delete(m.parts, namespace)
	}
}

// largest returns the namespace that has the most bytes. The caller holds m.mu.
func (m *memory) largest() (namespace string) {
	most := 0
	for name, p := range m.parts {
		if p.size > most {
			namespace, most = name, p.size
		}
	}
	return namespace
}
