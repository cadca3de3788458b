package jvm

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// parseProperties parses the text that java.util.Properties.store writes, by the
// grammar of Properties.load(Reader), continuation lines included. A malformed
// \uXXXX stands for itself: this reads other people's properties for the sake of
// one of ours.
func parseProperties(text string) map[string]string {
	properties := map[string]string{}
	for line, rest := logicalLine(text); line != "" || rest != ""; line, rest = logicalLine(rest) {
		if line == "" {
			continue
		}
		end := 0
		for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
			if line[end] == '\\' && end+1 < len(line) {
				end++
			}
			end++
		}
		value := strings.TrimLeft(line[end:], " \t\f")
		if value != "" && (value[0] == '=' || value[0] == ':') {
			value = strings.TrimLeft(value[1:], " \t\f")
		}
		properties[unescape(line[:end])] = unescape(value)
	}
	return properties
}

// logicalLine returns the first line of text without its leading white space,
// joined with the lines that it continues on; a comment gives an empty line.
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

// unescape resolves the escapes of a key or value. \uXXXX are UTF-16 units; all
// other bytes are ISO 8859-1, which store leaves no byte above 0x7e of.
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
