package jvm

import "strings"

// expandArgFiles replaces every @file before the main class by the arguments in
// it, as the launcher does (JDK 9, args.c): not recursively, @@ is a literal @,
// and --disable-@files ends it. What follows a file that cannot be read is left
// out: it may be options, or the main class' arguments, which hold secrets.
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

// splitArgFile splits an @argfile: as splitOptions, but # starts a comment, a
// backslash escapes inside quotes, and one at a line's end there continues the
// argument without the next line's indentation (args.c, java(1)).
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
