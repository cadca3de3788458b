package jvm

import "strings"

// splitOptions splits what stands in JAVA_TOOL_OPTIONS and its like, or in a
// VMOptionsFile: white space separates, quotes of either kind take it in, and
// there is no escape (Arguments::parse_options_buffer).
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

// settingsFile returns the options in a file of -XX:Flags, where they stand
// without -XX: and # starts a comment (Arguments::process_settings_file).
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
