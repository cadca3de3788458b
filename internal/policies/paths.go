package policies

import "banzaicloud.com/jmx-exporter-operator/pkg/power"

// paths are those of power.SystemPaths, each with a slash at its end, so that one covers
// another exactly if that begins with it: by what gives power over the node, and all.
type paths struct{ Read, Write, All []string }

func pathValues() (values paths) {
	for _, p := range power.SystemPaths() {
		ends := p.Path + "/"
		switch p.Access {
		case power.AccessRead:
			values.Read = append(values.Read, ends)
		case power.AccessWrite:
			values.Write = append(values.Write, ends)
		case power.AccessNone:
		}
		values.All = append(values.All, ends)
	}
	return values
}
