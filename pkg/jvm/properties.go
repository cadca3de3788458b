package jvm

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"
)

// findProperty returns one property from the text that java.util.Properties.store writes.
// It does not collect the others: code in the JVM may set a million of them.
func findProperty(text, name string) (value string, found bool) {
	for key, v := range properties(text) {
		if key == name {
			value, found = v, true
		}
	}
	return value, found
}

// properties yields the keys and values in that text, by the grammar of
// Properties.load(Reader), including continuation lines. A malformed \uXXXX is kept
// literally: the text contains other code's properties, which must not prevent reading
// ours.
func properties(text string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for line, rest := logicalLine(text); line != "" || rest != ""; line, rest = logicalLine(rest) {
			if line == "" {
				continue
			}
			if key, value := splitProperty(line); !yield(unescape(key), unescape(value)) {
				return
			}
		}
	}
}

// splitProperty splits a line into key and value, both unescaped.
func splitProperty(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' && end+1 < len(line) {
			end++
		}
		end++
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], value
}

// logicalLine returns the first line of text without its leading white space, joined with
// its continuation lines; a comment yields an empty line.
func logicalLine(text string) (line, rest string) {
	var b strings.Builder
	for first := true; ; first = false {
		line, rest = cutLine(text)
		line = strings.TrimLeft(line, " \t\f")
		if first && (strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!")) {
			return "", rest
		}
		backslashes := len(line) - len(strings.TrimRight(line, `\`))
		if backslashes%2 == 0 || rest == "" {
			if first {
				return line, rest
			}
			b.WriteString(line)
			return b.String(), rest
		}
		b.WriteString(line[:len(line)-1])
		text = rest
	}
}

// cutLine cuts text after a line that ends in \n, \r or \r\n.
func cutLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	if strings.HasPrefix(text[i:], "\r\n") {
		return text[:i], text[i+2:]
	}
	return text[:i], text[i+1:]
}

// unescape resolves the escapes in a key or value. \uXXXX are UTF-16 units; other bytes
// are ISO 8859-1, of which store escapes everything above 0x7e.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var units []uint16
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			units = append(units, uint16(s[i]))
			continue
		}
		i++
		switch c := s[i]; c {
		case 't':
			units = append(units, '\t')
		case 'n':
			units = append(units, '\n')
		case 'r':
			units = append(units, '\r')
		case 'f':
			units = append(units, '\f')
		case 'u':
			if i+4 < len(s) {
				if unit, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
					units = append(units, uint16(unit))
					i += 4
					continue
				}
			}
			units = append(units, 'u')
		default:
			units = append(units, uint16(c))
		}
	}
	return string(utf16.Decode(units))
}
