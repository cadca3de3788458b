package jvm

import "strings"

// expandArgFiles replaces each @file before the main class with the arguments it
// contains, as the launcher does since JDK 9 (args.c): expansion is not recursive, @@ is
// a literal @, and --disable-@files ends it. After an unreadable file, the remaining
// arguments are dropped: they may be options, or arguments of the main class, which may
// contain secrets.
func expandArgFiles(args []string, open func(string) (string, bool)) []string {
	var expanded []string
	for i, arg := range args {
		if arg == "--disable-@files" {
			return append(expanded, args[i+1:]...)
		}
		if _, main := splitLauncherArgs(expanded); main != "" {
			return append(expanded, args[i:]...)
		}
		switch {
		case strings.HasPrefix(arg, "@@"):
			expanded = append(expanded, arg[1:])
		case strings.HasPrefix(arg, "@") && len(arg) > 1:
			text, ok := open(arg[1:])
			if !ok {
				return expanded
			}
			expanded = append(expanded, splitArgFile(text)...)
		default:
			expanded = append(expanded, arg)
		}
	}
	return expanded
}

// splitArgFile splits an @argfile (args.c, java(1)). It differs from splitOptions: #
// starts a comment, a backslash inside quotes escapes, and a backslash at the end of a
// line inside quotes continues the argument without the next line's indentation.
func splitArgFile(text string) []string {
	var (
		args   []string
		b      strings.Builder
		quote  byte
		inside bool
	)
	flush := func() {
		if inside {
			args = append(args, b.String())
		}
		b.Reset()
		inside = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case 'f':
				b.WriteByte('\f')
			case '\n', '\r':
				for i+1 < len(text) && strings.IndexByte(" \t\r\n\f", text[i+1]) >= 0 {
					i++
				}
			default:
				b.WriteByte(text[i])
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, inside = c, true
		case c == '#' && !inside:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			flush()
		default:
			b.WriteByte(c)
			inside = true
		}
	}
	flush()
	return args
}
