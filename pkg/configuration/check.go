package configuration

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checker carries what the checks of one configuration share.
type checker struct {
	// lines of the configuration, if there are tabs in it.
	lines [][]rune
	// aliases counts those to lists and mappings.
	aliases int
	// flat holds the keys of mappings with those merged in, since an alias may
	// merge a mapping into many, and those into others.
	flat map[*yaml.Node][]entry
	// fine are values in order, since an alias may repeat a long one.
	fine map[fine]bool
}

// fine is a value and what it was found to be.
type fine struct {
	node *yaml.Node
	what string
}

// once runs a costly check of a string only once for all its aliases.
func (c *checker) once(path, what string, n *yaml.Node, check func(string) error) error {
	key := fine{resolve(n), what}
	if c.fine[key] {
		return nil
	}
	if err := check(key.node.Value); err != nil {
		return invalid(n, "%s is not %s: %v", path, what, err)
	}
	c.fine[key] = true
	return nil
}

// check returns an *Error if the value n of the key at path is not what the
// collector can use.
type check func(c *checker, path string, n *yaml.Node) error

// tree checks what holds for every node, whatever it means: the exporter's YAML
// reader bounds nesting and aliases, and constructs no classes.
func (c *checker) tree(n *yaml.Node, depth int) error {
	if depth > maxNesting {
		return invalid(n, "lists and mappings are nested more than %d deep", maxNesting)
	}
	if c.tabBefore(n) {
		return &Error{Reason: ConfigNotYAML, Line: n.Line, Message: "a tab precedes a value; the exporter takes spaces only"}
	}
	if n.Kind == yaml.AliasNode {
		if n.Alias.Kind != yaml.ScalarNode {
			c.aliases++
		}
		if c.aliases > maxAliases {
			return invalid(n, "more than %d aliases stand for lists or mappings", maxAliases)
		}
		return nil
	}
	if !tagFits(n) {
		return invalid(n, "a tag is not one of the exporter's, or its value is not of that type")
	}
	for _, child := range n.Content {
		if err := c.tree(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// lineBreak is what begins a new line in YAML 1.1.
var lineBreak = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")

// tabLines returns the lines of content if there is a tab in it, else nil.
func tabLines(content []byte) (lines [][]rune) {
	if !bytes.ContainsRune(content, '\t') {
		return nil
	}
	text := strings.TrimPrefix(string(content), "\ufeff")
	for _, line := range lineBreak.Split(text, -1) {
		lines = append(lines, []rune(line))
	}
	return lines
}

// tabBefore tells whether white space before a node has a tab, which the
// exporter's YAML reader refuses and the library here does not.
func (c *checker) tabBefore(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(c.lines) {
		return false
	}
	line := c.lines[n.Line-1]
	for i := min(n.Column-1, len(line)) - 1; i >= 0; i-- {
		if line[i] != ' ' {
			return line[i] == '\t'
		}
	}
	return false
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yaml.Node }

// entries returns a mapping's own keys and those that << merges into it.
func (c *checker) entries(n *yaml.Node, depth int) ([]entry, error) {
	n = resolve(n)
	if all, found := c.flat[n]; found {
		return all, nil
	}
	if depth > maxNesting {
		return nil, invalid(n, "mappings are merged more than %d deep, or into themselves", maxNesting)
	}
	var own, merged []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := c.merge(value, depth)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if first, found := lines[key.Value]; found && key.Kind == yaml.ScalarNode {
			return nil, invalid(n.Content[i], "key %s occurs twice, first on line %d; the exporter would use the last one only", quote(key), first)
		}
		lines[key.Value] = n.Content[i].Line
		own = append(own, entry{n.Content[i], value})
	}
	for _, e := range merged {
		if _, found := lines[resolve(e.key).Value]; !found {
			lines[resolve(e.key).Value] = e.key.Line
			own = append(own, e)
		}
	}
	c.flat[n] = own
	return own, nil
}

// merge returns the entries of what << refers to, a mapping or a list of them.
func (c *checker) merge(n *yaml.Node, depth int) ([]entry, error) {
	switch kindOf(n) {
	case kindMapping:
		return c.entries(n, depth+1)
	case kindList:
		var all []entry
		for _, item := range resolve(n).Content {
			if kindOf(item) != kindMapping {
				return nil, invalid(item, "<< can merge mappings only, and this is %s", kindOf(item))
			}
			more, err := c.entries(item, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	default:
		return nil, invalid(n, "<< can merge mappings only, and this is %s", kindOf(n))
	}
}

// keys are the keys that a mapping may have.
type keys map[string]check

// constraint is what the keys of a mapping have to do with one another.
type constraint func(has map[string]bool) (problem string)

// required asks for at least one of the keys, with a value.
func required(names ...string) constraint {
	return func(has map[string]bool) string {
		if slices.ContainsFunc(names, func(name string) bool { return has[name] }) {
			return ""
		}
		return strings.Join(names, " or ") + " is missing"
	}
}

// needs asks for a second key where there is a first one.
func needs(name, other string) constraint {
	return func(has map[string]bool) string {
		if !has[name] || has[other] {
			return ""
		}
		return fmt.Sprintf("%s is of no use without %s", name, other)
	}
}

func mapping(known keys, constraints ...constraint) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindMapping {
			return wrongKind(path, n, string(kindMapping))
		}
		all, err := c.entries(n, 0)
		if err != nil {
			return err
		}
		has := map[string]bool{}
		for _, e := range all {
			name := resolve(e.key).Value
			check, found := known[name]
			if !found || kindOf(e.key) != kindString {
				return unknownKey(path, e.key, known)
			}
			if err := check(c, join(path, name), e.value); err != nil {
				return err
			}
			// A pattern of nothing is the word "null" to the collector.
			has[name] = kindOf(e.value) != kindNull || name == "pattern"
		}
		for _, constraint := range constraints {
			if problem := constraint(has); problem != "" {
				return invalid(n, "%s: %s", path, problem)
			}
		}
		return nil
	}
}

// anyKey is a mapping whose keys are not known beforehand.
func anyKey(key, value check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindMapping {
			return wrongKind(path, n, string(kindMapping))
		}
		all, err := c.entries(n, 0)
		if err != nil {
			return err
		}
		for _, e := range all {
			if err := key(c, "a key of "+path, e.key); err != nil {
				return err
			}
			if err := value(c, join(path, resolve(e.key).Value), e.value); err != nil {
				return err
			}
		}
		return nil
	}
}

func list(item check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) != kindList {
			return wrongKind(path, n, string(kindList))
		}
		for i, child := range resolve(n).Content {
			if err := item(c, fmt.Sprintf("%s[%d]", path, i), child); err != nil {
				return err
			}
		}
		return nil
	}
}

// orNothing accepts a key without a value, which the collector takes for none.
func orNothing(inner check) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if kindOf(n) == kindNull {
			return nil
		}
		return inner(c, path, n)
	}
}

func forbidden(why string) check {
	return func(_ *checker, path string, n *yaml.Node) error {
		return &Error{Reason: ConfigForbidden, Line: n.Line, Message: clip(fmt.Sprintf("%s is not allowed: %s", path, why))}
	}
}

func oneOf(words ...string) check {
	return func(c *checker, path string, n *yaml.Node) error {
		if err := text(c, path, n); err != nil {
			return err
		}
		if slices.Contains(words, resolve(n).Value) {
			return nil
		}
		return invalid(n, "%s is none of %s", path, strings.Join(words, ", "))
	}
}

func boolean(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindBoolean {
		return wrongKind(path, n, "true or false")
	}
	return nil
}

func text(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindString {
		return wrongKind(path, n, string(kindString))
	}
	return nil
}

func anything(*checker, string, *yaml.Node) error { return nil }

func something(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) == kindNull {
		return wrongKind(path, n, "a value")
	}
	return nil
}

func seconds(_ *checker, path string, n *yaml.Node) error {
	if kindOf(n) != kindInteger {
		return wrongKind(path, n, string(kindInteger))
	}
	value := strings.ReplaceAll(resolve(n).Value, "_", "")
	if strings.HasPrefix(value, "-") {
		return invalid(n, "%s is less than 0", path)
	}
	// The base is told by the prefix, as in Java; base 60 is small enough.
	if _, err := strconv.ParseInt(value, 0, 32); err != nil && !strings.Contains(value, ":") {
		return invalid(n, "%s is too large", path)
	}
	return nil
}

// javaDouble is what Double.valueOf reads.
var javaDouble = regexp.MustCompile(`^[\x00-\x20]*[-+]?(?:NaN|Infinity|(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][-+]?\d+)[fFdD]?)[\x00-\x20]*$`)

func number(c *checker, path string, n *yaml.Node) error {
	switch kindOf(n) {
	case kindInteger, kindFloat:
		return nil
	case kindString:
		return c.once(path, "a number", n, func(value string) error {
			if !javaDouble.MatchString(value) {
				return errors.New("it is other text")
			}
			return nil
		})
	default:
		return wrongKind(path, n, string(kindFloat))
	}
}

func objectName(c *checker, path string, n *yaml.Node) error {
	if err := text(c, path, n); err != nil {
		return err
	}
	return c.once(path, "an object name", n, checkObjectName)
}

// pattern accepts what is no string too: the collector makes one of it.
func pattern(c *checker, path string, n *yaml.Node) error {
	if kindOf(n) == kindMapping {
		return wrongKind(path, n, string(kindString))
	}
	if kindOf(n) != kindString {
		return nil
	}
	return c.once(path, "a regular expression of Java", n, checkPattern)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + clipName(name)
}

func wrongKind(path string, n *yaml.Node, want string) *Error {
	if path == "" {
		path = "the configuration"
	}
	got := kindOf(n)
	hint := ""
	if want == string(kindString) && resolve(n).Kind == yaml.ScalarNode && got != kindNull {
		hint = "; put it in quotes"
	}
	return invalid(n, "%s must be %s and is %s%s", path, want, got, hint)
}

func unknownKey(path string, key *yaml.Node, known keys) *Error {
	where := ""
	if path != "" {
		where = " in " + path
	}
	suggestion := ""
	if near := nearest(resolve(key).Value, slices.Sorted(maps.Keys(known))); near != "" {
		suggestion = fmt.Sprintf("; did you mean %q?", near)
	}
	return invalid(key, "unknown key %s%s%s", quote(key), where, suggestion)
}

// quote shows a key, but nothing long: it may be a value gone astray.
func quote(key *yaml.Node) string {
	if resolve(key).Kind != yaml.ScalarNode {
		return "that is " + string(kindOf(key))
	}
	return strconv.Quote(clipName(resolve(key).Value))
}

func clipName(name string) string {
	const longest = 60
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}

// nearest returns the word that a typing error most likely was to be, or "".
func nearest(word string, words []string) string {
	best, least := "", max(2, len(word)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(word), strings.ToLower(w), least); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's, or limit if it is not less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
