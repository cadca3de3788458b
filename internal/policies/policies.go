// Package policies generates the admission policies of config/policies, which restrict
// the operator's service account, from the constants that the operator uses, so that the
// two cannot drift apart.
package policies

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

//go:embed templates
var templates embed.FS

// Commands are the commands that sessions of accepted releases execute in containers:
// transport.Artifacts.Command.
type Commands struct {
	Current  []string `json:"current"`
	Previous []string `json:"previous,omitempty"`
}

// session is one of Commands, for the template.
type session struct {
	Name, Script string
	Arguments    []string
}

func (c Commands) sessions() ([]session, error) {
	var sessions []session
	for _, of := range []struct {
		name    string
		command []string
	}{{"current", c.Current}, {"previous", c.Previous}} {
		if of.command == nil {
			continue
		}
		if len(of.command) < 4 || !slices.Equal(of.command[:2], []string{"sh", "-c"}) || !quotable(of.command[2]) {
			return nil, fmt.Errorf("the command of the %s release is none that a policy can hold", of.name)
		}
		sessions = append(sessions, session{Name: of.name, Script: of.command[2], Arguments: of.command[3:]})
	}
	return sessions, nil
}

// quotable reports whether a script can be placed between r""" and """ unchanged, and in
// a YAML block.
func quotable(script string) bool {
	return !strings.Contains(script, `"""`) && !strings.HasPrefix(script, `"`) && !strings.HasSuffix(script, `"`) && !strings.ContainsAny(script, "\t\r") &&
		!strings.HasSuffix(script, "\n")
}

// Files returns the policies by their paths, relative to config/policies.
func Files(commands Commands) (map[string][]byte, error) {
	sessions, err := commands.sessions()
	if err != nil {
		return nil, err
	}
	values := values(sessions)
	parsed := template.New("").Funcs(template.FuncMap{"quote": strconv.Quote, "list": list, "join": join, "indent": indent})
	files := map[string][]byte{}
	err = fs.WalkDir(templates, "templates", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		one, err := template.Must(parsed.Clone()).Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := one.Execute(&out, values); err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "templates/")
		if strings.HasPrefix(name, "next-start/") { // a component of its own
			name = "../" + name
		}
		files[name] = out.Bytes()
		return nil
	})
	return files, err
}

// values are what the templates are filled with.
func values(sessions []session) map[string]any {
	return map[string]any{
		"Sessions":            sessions,
		"TokenPodUID":         "authentication.kubernetes.io/pod-uid",
		"DoorCommand":         transport.DoorCommand(),
		"DoorPrefix":          transport.DoorPrefix,
		"DoorName":            "^" + transport.DoorPrefix + "[0-9a-f]{8}-[0-9]+$",
		"DoorProgram":         helperapi.DoorProgram,
		"Door":                string(helperapi.VerbDoor),
		"DoorTarget":          helperapi.DoorTarget,
		"DoorFields":          doorFields,
		"DoorSecurityFields":  doorSecurityFields,
		"DoorPullPolicy":      string(corev1.PullIfNotPresent),
		"DoorMessagePath":     corev1.TerminationMessagePathDefault,
		"DoorMessagePolicy":   string(corev1.TerminationMessageReadFile),
		"Node":                nodeValues(),
		"Annotations":         []string{v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath, v1alpha1.AnnotationScheme, v1alpha1.AnnotationFlag},
		"AnnotationFlag":      v1alpha1.AnnotationFlag,
		"Group":               v1alpha1.GroupVersion.Group,
		"APIVersion":          v1alpha1.GroupVersion.String(),
		"LabelExporterUID":    v1alpha1.LabelExporterUID,
		"LabelManagedBy":      v1alpha1.LabelManagedBy,
		"ManagedBy":           v1alpha1.ManagedBy,
		"LabelSliceManagedBy": discoveryv1.LabelManagedBy,
		"SliceManagedBy":      selection.SliceManager,
		"ServiceLabels":       []string{v1alpha1.LabelExporterUID, v1alpha1.LabelManagedBy, v1alpha1.LabelExporter},
		"SliceLabels":         []string{v1alpha1.LabelExporterUID, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy},
		"CascadeFinalizers":   []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents},
		"LabelExporter":       v1alpha1.LabelExporter,
		"ServiceFields":       []string{"type", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "ports", "sessionAffinity", "internalTrafficPolicy"},
		"PortName":            selection.PortName,
		"ServiceName":         "^[a-z]([a-z0-9-]*[a-z0-9])?-jmx-[0-9a-f]{8}$",
		"JavaOptions":         v1alpha1.JavaOptionsVariable,
		"Option":              v1alpha1.OptionAllowAttach,
		"Flag":                v1alpha1.FlagAllowAttach,
		"AllowAttach":         string(v1alpha1.NextStartAllowAttach),
		"Attach":              string(v1alpha1.ModeAttach),
		"OptOut":              v1alpha1.AnnotationOptOut,
		"Mirror":              corev1.MirrorPodAnnotationKey,
		"Never":               v1alpha1.NextStartNever(),
		"LongestOptions":      podfacts.LongestJavaOptions,
		"SystemNamespace":     metav1.NamespaceSystem,
		"Ordinary":            "^(CAP_)?(" + strings.Join(power.OrdinaryCapabilities(), "|") + ")$",
		"SystemPaths":         pathValues(),
	}
}

// The fields of an ephemeral container that transport.Door sets, or the API server, and those
// of its security context; resources is always there, and empty. Admission of a platform may
// set privileged to false.
var (
	doorFields = []string{
		"name", "targetContainerName", "image", "imagePullPolicy", "command", "env", "securityContext",
		"terminationMessagePath", "terminationMessagePolicy", "resources",
	}
	doorSecurityFields = []string{
		"runAsUser", "runAsGroup", "runAsNonRoot", "allowPrivilegeEscalation", "readOnlyRootFilesystem", "privileged", "capabilities",
		"seccompProfile", "seLinuxOptions", "appArmorProfile",
	}
)

// list returns a CEL list of strings, and join its elements.
func list(elements []string) string { return "[" + join(elements) + "]" }

func join(elements []string) string {
	var quoted []string
	for _, e := range elements {
		quoted = append(quoted, strconv.Quote(e))
	}
	return strings.Join(quoted, ", ")
}

// indent indents all lines except the first.
func indent(spaces int, text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", spaces))
}
