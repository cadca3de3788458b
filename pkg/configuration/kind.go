package configuration

import (
	"regexp"

	"go.yaml.in/yaml/v3"
)

// kind is the type of a value according to the exporter's YAML parser. It parses YAML 1.1,
// where plain yes and off are booleans and 2020-01-01 is a timestamp, so the types that
// the YAML library resolves are not used.
type kind string

const (
	kindNull      kind = "nothing"
	kindBoolean   kind = "a boolean"
	kindInteger   kind = "an integer"
	kindFloat     kind = "a number"
	kindString    kind = "a string"
	kindTimestamp kind = "a timestamp"
	kindBinary    kind = "binary data"
	kindList      kind = "a list"
	kindMapping   kind = "a mapping"
	kindUnknown   kind = "of an unknown tag"
)

// plainKinds lists the kinds of plain scalars other than strings in the order in which the
// exporter tries them, each with its maximum length.
var plainKinds = []struct {
	kind      kind
	maxLength int
	form      *regexp.Regexp
}{
	{kindNull, 10, regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)},
	{kindBoolean, 10, regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)},
	{kindInteger, 1024, regexp.MustCompile(`^[-+]?(?:0b_*[01][01_]*|0_*[0-7][0-7_]*|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)},
	{kindFloat, 1024, regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|[-+]?\.[0-9_]+(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)},
	{kindTimestamp, 50, regexp.MustCompile(`^\d{4}-(?:\d\d-\d\d|\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$`)},
}

// tagKinds maps the explicit tags that the exporter supports to their kinds.
var tagKinds = map[string]kind{
	"!!null": kindNull, "!!bool": kindBoolean, "!!int": kindInteger, "!!float": kindFloat,
	"!!str": kindString, "!!timestamp": kindTimestamp, "!!binary": kindBinary,
	"!!seq": kindList, "!!map": kindMapping,
}

// resolve returns the node that an alias refers to; other nodes are returned unchanged.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func kindOf(n *yaml.Node) kind {
	n = resolve(n)
	if n.Style&yaml.TaggedStyle != 0 {
		if k, found := tagKinds[n.Tag]; found {
			return k
		}
		return kindUnknown
	}
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	switch {
	case n.Kind == yaml.SequenceNode:
		return kindList
	case n.Kind == yaml.MappingNode:
		return kindMapping
	case n.Style&quoted != 0:
		return kindString
	default:
		return plainKind(n.Value)
	}
}

func plainKind(value string) kind {
	for _, k := range plainKinds {
		if len(value) <= k.maxLength && k.form.MatchString(value) {
			return k.kind
		}
	}
	return kindString
}

// tagFits reports whether a node has the form that its explicit tag requires. It is true
// without such a tag.
func tagFits(n *yaml.Node) bool {
	if n.Style&yaml.TaggedStyle == 0 {
		return true
	}
	switch k := kindOf(n); k {
	case kindUnknown:
		return false
	case kindList:
		return n.Kind == yaml.SequenceNode
	case kindMapping:
		return n.Kind == yaml.MappingNode
	case kindInteger, kindTimestamp, kindBoolean:
		return n.Kind == yaml.ScalarNode && plainKind(n.Value) == k
	case kindFloat:
		plain := plainKind(n.Value)
		return n.Kind == yaml.ScalarNode && (plain == kindFloat || plain == kindInteger)
	default:
		return n.Kind == yaml.ScalarNode
	}
}
