package jvm

import "strings"

// splitOptions splits the value of JAVA_TOOL_OPTIONS and similar variables, or a
// VMOptionsFile, at white space. Single or double quotes protect it; there is no escape
// (Arguments::parse_options_buffer).
func splitOptions(text string) []string {
	var (
		options []string
		b       strings.Builder
		quote   rune
		inside  bool
	)
	for _, r := range text + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inside = r, true
		case strings.ContainsRune(" \t\r\n\f\v", r):
			if inside {
				options = append(options, b.String())
			}
			b.Reset()
			inside = false
		default:
			b.WriteRune(r)
			inside = true
		}
	}
	return options
}

// settingsFile returns the options of a -XX:Flags file, which contains them without -XX:
// and where # starts a comment (Arguments::process_settings_file).
func settingsFile(text string) []string {
	var options []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, flag := range splitOptions(line) {
			options = append(options, "-XX:"+flag)
		}
	}
	return options
}
