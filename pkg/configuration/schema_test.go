package configuration

import "strings"

// verdict is whether the collector itself accepts a configuration, as TestCollector
// checks.
type verdict bool

const (
	refuses verdict = false
	// accepts includes that it ignores what is wrong, or only fails when scraped.
	accepts verdict = true
)

type want struct {
	err *Error
	// warning is the warning of Validate for an accepted configuration.
	warning   string
	collector verdict
}

func refused(line int, message string) want {
	return want{err: &Error{ConfigInvalid, line, message}, collector: refuses}
}

// warned is accepted by both, with a warning.
func warned(warning string) want { return want{warning: warning, collector: accepts} }

// stricter is rejected by Validate and accepted by the collector.
func stricter(line int, message string) want {
	return want{err: &Error{ConfigInvalid, line, message}, collector: accepts}
}

func notYAML(line int, message string) want {
	return want{err: &Error{ConfigNotYAML, line, message}, collector: refuses}
}

func forbids(line int, message string) want {
	return want{err: &Error{ConfigForbidden, line, message}, collector: accepts}
}

var ok = want{collector: accepts}

// rejected is accepted by Validate, and rejected by the agent in the canary's JVM, with
// ConfigRejected.
var rejected = want{collector: refuses}

const everything = `# Every key that there is.
lowercaseOutputName: true
lowercaseOutputLabelNames: yes
inferCounterTypeFromName: off
autoExcludeObjectNameAttributes: false
excludeJvmMetrics: true
startDelaySeconds: 0
username: somebody
password: ""
ssl: false
includeObjectNames: ["java.lang:*", "kafka.*:type=x,*"]
excludeObjectNames: ["d:type=\"a,b\",name=c"]
whitelistObjectNames: []
blacklistObjectNames: []
includeObjectNameAttributes:
  java.lang:type=Memory: [HeapMemoryUsage]
excludeObjectNameAttributes:
  "java.lang:type=Runtime":
    - ClassPath
rules:
  - pattern: 'kafka.server<type=(.+), name=(.+)><>Value: (\d+)'
    name: kafka_server_$1
    value: $3
    valueFactor: 0.001
    help: "Kafka $1"
    attrNameSnakeCase: true
    type: GAUGE
    cache: false
    labels:
      name: "$2"
      "$1": x
  - pattern: .*
metricCustomizers:
  - mbeanFilter:
      domain: org.example
      properties: {type: "1"}
    attributesAsLabels: [Name]
    extraMetrics:
      - name: up
        value: true
        description: It is there
`

var configurations = map[string]struct {
	reason string
	args   string
	want   want
}{
	"Everything":       {"Every key is known.", everything, ok},
	"Empty":            {"Nothing at all means the defaults.", "", ok},
	"OnlyComments":     {"So do comments.", "# nothing\n---\n", ok},
	"Null":             {"So does an explicit nothing.", "~", ok},
	"EmptyMapping":     {"And a mapping without keys.", "{}", ok},
	"NoRules":          {"An empty list is a list.", "rules: []", ok},
	"EmptyRule":        {"A rule may be empty, and then means the default.", "rules: [{}]", ok},
	"ByteOrderMark":    {"Editors leave it there.", "\ufeffrules: []", ok},
	"CarriageReturns":  {"Other editors leave these.", "rules:\r\n- pattern: a\r\n", ok},
	"TabsInValues":     {"A tab may be part of a value, or of a comment.", "rules:\n- pattern: a\tb # \tc\n  name: 'd\te'\n", ok},
	"DocumentEnd":      {"One document may be ended.", "---\nrules: []\n...\n", ok},
	"NothingAllowed":   {"These keys need no value.", "excludeJvmMetrics:\nusername:\npassword:\nrules:\n- {pattern: , name: , value: , help: }", ok},
	"NumbersAsPattern": {"The collector turns any pattern into a string.", "rules: [{pattern: 1}, {pattern: [a-z]}, {pattern: 2020-01-01}]", ok},
	"AnyValue":         {"And any value.", "rules: [{pattern: a, value: 1}, {pattern: a, value: yes}, {pattern: a, value: 1e3}]", ok},
	"Factors":          {"A factor may be a string.", "rules: [{valueFactor: 1_000}, {valueFactor: '0.5'}, {valueFactor: ' 1e-3f '}, {valueFactor: 0x10}, {valueFactor: .inf}, {valueFactor: NaN}]", ok},
	"Merge":            {"A rule may be merged from another.", "rules:\n- &a {pattern: a, name: b, cache: true}\n- <<: *a\n  name: c\n- <<: [*a, {help: d}]\n", ok},
	"Tags":             {"A tag says what a value is.", "rules: [!!map {pattern: !!str 1, name: !!str yes, cache: !!bool no, valueFactor: !!float 1}]", ok},
	"LargeDelay":       {"It is a Java Integer, in any of its forms.", "startDelaySeconds: 0x7fff_ffff", ok},
	"EmptyObjectName":  {"It is the same as *:*.", "includeObjectNames: ['']", ok},
	"SelfReference":    {"A value may hold itself.", "rules: [{pattern: a, value: &a [*a]}]", ok},
	"OldTypes":         {"What older exporters had is served untyped.", "rules: [{type: UNTYPED}, {type: HISTOGRAM}]", ok},

	"UnknownKey": {"The exporter ignores it: a typing error is told with what was meant.", "\nlowercaseOutputNames: true",
		warned(`line 2 (did you mean "lowercaseOutputName"?)`)},
	"UnknownKeyOfRule": {"A rule's key at the top, as in two of the exporter's examples.", "attrNameSnakeCase: true\nrules: [{pattern: a}]",
		warned("line 1")},
	"UnknownKeyAny": {"Whatever its value is.", "extra: {rules: [1, {hostPort: a}], b: }\n", warned("line 1")},
	"UnknownKeys": {"A few are named, the others counted.", "a1: 1\nb2: 1\nc3: 1\nd4: 1\ne5: 1",
		warned("line 1, line 2, line 3, and 2 more")},
	"UnknownKeyAndError": {"What is wrong beside it is refused.", "collectors: 1\nrules: 1",
		refused(2, "rules must be a list and is an integer")},
	"UnknownKeyInCustomizer": {"In all that it knows the exporter's keys count.", "metricCustomizers: [{mbeanFilter: {domain: a, property: {}}, attributesAsLabels: []}]",
		stricter(1, "unknown key in metricCustomizers[0].mbeanFilter")},
	"UnknownKeyInRule": {"In a rule as well, with the rule.", "rules:\n- pattern: a\n- patern: b\n",
		stricter(3, `unknown key in rules[1]; did you mean "pattern"?`)},
	"UnknownKeyFarOff": {"Nothing is suggested for what resembles nothing.", "collectors: 1",
		warned("line 1")},
	"UnknownKeyWrongCase": {"Case matters to the collector.", "rules: [{attrnamesnakecase: true}]",
		stricter(1, `unknown key in rules[0]; did you mean "attrNameSnakeCase"?`)},
	"UnknownKeySecret": {"A key may be a value gone astray, or a secret of the ConfigMap: it is not repeated.", "hunter2: 1", warned("line 1")},
	"KeyIsNoString":    {"A plain yes is a boolean.", "yes: 1", stricter(1, "unknown key")},
	"KeyIsList":        {"YAML allows it.", "? [a]\n: 1", stricter(1, "unknown key that is a list")},
	"DuplicateKey": {"The collector would use the last one only.", "rules:\n- pattern: a\nrules: []",
		stricter(3, `duplicate key, first on line 1; the exporter would use only the last one`)},
	"RootIsList":   {"A configuration is a mapping.", "- pattern: a", refused(1, "the configuration must be a mapping and is a list")},
	"RootIsString": {"A file name gone astray.", "config.yaml", refused(1, "the configuration must be a mapping and is a string")},

	"RulesNothing":  {"The collector fails on it.", "rules:\n", refused(1, "rules must be a list and is nothing")},
	"RulesMapping":  {"A forgotten dash.", "rules:\n  pattern: a\n", refused(2, "rules must be a list and is a mapping")},
	"RuleNothing":   {"An empty item is nothing.", "rules:\n-\n", refused(2, "rules[0] must be a mapping and is nothing")},
	"RuleIsString":  {"A rule is a mapping.", "rules:\n- a\n", refused(2, "rules[0] must be a mapping and is a string")},
	"PatternIsMap":  {"A brace that is not quoted.", "rules: [{pattern: {a: b}}]", refused(1, "rules[0].pattern must be a string and is a mapping")},
	"NameIsNumber":  {"Quotes are missing.", "rules:\n- pattern: a\n  name: 12\n", refused(3, "rules[0].name must be a string and is an integer; put it in quotes")},
	"NameIsBoolean": {"The word no is a boolean in YAML 1.1.", "rules: [{pattern: a, name: no}]", refused(1, "rules[0].name must be a string and is a boolean; put it in quotes")},
	"HelpIsDate":    {"A date is a timestamp in YAML 1.1.", "rules: [{pattern: a, name: b, help: 2020-01-01}]", refused(1, "rules[0].help must be a string and is a timestamp; put it in quotes")},
	"CacheIsString": {"A quoted boolean is a string.", "rules: [{cache: 'true'}]", refused(1, "rules[0].cache must be true or false and is a string")},
	"CacheNothing":  {"Nothing is no boolean.", "rules: [{cache: }]", refused(1, "rules[0].cache must be true or false and is nothing")},
	"FactorIsText":  {"It is a number.", "rules: [{valueFactor: 1/1000}]", refused(1, "rules[0].valueFactor is not a number")},
	"FactorTooLong": {"An alias may repeat it.", "rules: [{valueFactor: '0." + strings.Repeat("1", 1024) + "'}]", stricter(1, "rules[0].valueFactor is not a number")},
	"FactorNothing": {"Nothing is no number.", "rules: [{valueFactor: }]", refused(1, "rules[0].valueFactor must be a number and is nothing")},
	"TypeUnknown": {"The collector would serve it untyped.", "rules: [{type: gauge}]",
		stricter(1, "rules[0].type is not one of GAUGE, COUNTER, UNTYPED, UNKNOWN, HISTOGRAM, GAUGE_HISTOGRAM, SUMMARY, INFO, STATE_SET")},
	"TypeNothing":      {"Every scrape would fail on it.", "rules: [{type: }]", stricter(1, "rules[0].type must be a string and is nothing")},
	"LabelsIsList":     {"Labels are a mapping.", "rules:\n- pattern: a\n  name: b\n  labels:\n  - c\n", refused(5, "rules[0].labels must be a mapping and is a list")},
	"LabelIsNumber":    {"Its value is a string.", "rules: [{pattern: a, name: b, labels: {c: 1}}]", refused(1, "a value of rules[0].labels must be a string and is an integer; put it in quotes")},
	"LabelNothing":     {"Every scrape would fail on it.", "rules: [{pattern: a, name: b, labels: {c: }}]", stricter(1, "a value of rules[0].labels must be a string and is nothing")},
	"LabelNameBoolean": {"Its name is a string.", "rules: [{pattern: a, name: b, labels: {on: x}}]", refused(1, "a key of rules[0].labels must be a string and is a boolean; put it in quotes")},
	"NameAlone":        {"The collector demands it.", "rules:\n- pattern: a\n-\n  name: b\n", refused(4, "rules[1]: name has no effect without pattern")},
	"HelpAlone":        {"The same.", "rules: [{pattern: a, help: b}]", refused(1, "rules[0]: help has no effect without name")},
	"LabelsAlone":      {"The same.", "rules: [{pattern: a, labels: {}}]", refused(1, "rules[0]: labels has no effect without name")},
	"ValueAlone":       {"Every scrape would fail on it.", "rules: [{value: 1}]", stricter(1, "rules[0]: value has no effect without pattern")},
	"BadPattern":       {"Java's regular expressions are Java's to judge.", "rules: [{pattern: 'java.lang<(type'}]", rejected},

	"DelayIsString": {"It is an integer.", "startDelaySeconds: '1'", refused(1, "startDelaySeconds must be an integer and is a string")},
	"DelayIsFloat":  {"It is an integer.", "startDelaySeconds: 1.5", refused(1, "startDelaySeconds must be an integer and is a number")},
	"DelayTooLarge": {"A Java Integer has 32 bits.", "startDelaySeconds: 2147483648", refused(1, "startDelaySeconds is too large")},
	"DelayNegative": {"It is a time.", "startDelaySeconds: -1", refused(1, "startDelaySeconds is less than 0")},
	"DelayNothing":  {"Nothing is no time.", "startDelaySeconds:", refused(1, "startDelaySeconds must be an integer and is nothing")},
	"SSLMapping":    {"It is for connections to another JVM.", "ssl: {enabled: true}", stricter(1, "ssl must be true or false and is a mapping")},

	"ObjectNamesNothing": {"The collector fails on it.", "includeObjectNames:", refused(1, "includeObjectNames must be a list and is nothing")},
	"ObjectNameMissing":  {"An item without a value.", "includeObjectNames: [ , ]", notYAML(1, "the configuration is not YAML: did not find expected node content")},
	"ObjectNameIsNumber": {"It is a string.", "includeObjectNames: [1]", refused(1, "includeObjectNames[0] must be a string and is an integer; put it in quotes")},
	"ObjectNameInvalid":  {"Object names are Java's to judge.", "includeObjectNames: ['java.lang']", rejected},
	"ObjectNameAsKey":    {"As keys, too.", "excludeObjectNameAttributes: {'a:': [B]}", rejected},
	"AttributesNothing":  {"The collector fails on it.", "includeObjectNameAttributes: {'a:b=c': }", refused(1, "a value of includeObjectNameAttributes must be a list and is nothing")},
	"AttributeBoolean":   {"It would match no attribute.", "includeObjectNameAttributes: {'a:b=c': [On]}", stricter(1, "a value of includeObjectNameAttributes[0] must be a string and is a boolean; put it in quotes")},

	"CustomizersNothing":  {"The collector demands more.", "metricCustomizers:", refused(1, "metricCustomizers must be a list and is nothing")},
	"CustomizerNoFilter":  {"The same.", "metricCustomizers:\n- attributesAsLabels: [a]\n", refused(2, "metricCustomizers[0]: mbeanFilter is missing")},
	"CustomizerNoDomain":  {"The same.", "metricCustomizers: [{mbeanFilter: {}, attributesAsLabels: []}]", refused(1, "metricCustomizers[0].mbeanFilter: domain is missing")},
	"CustomizerNoUse":     {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}}]", refused(1, "metricCustomizers[0]: attributesAsLabels or extraMetrics is missing")},
	"CustomizerNoName":    {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{value: 1}]}]", refused(1, "metricCustomizers[0].extraMetrics[0]: name is missing")},
	"CustomizerNoValue":   {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{name: a}]}]", refused(1, "metricCustomizers[0].extraMetrics[0]: value is missing")},
	"CustomizerNullValue": {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{name: a, value: }]}]", refused(1, "metricCustomizers[0].extraMetrics[0].value must be a value and is nothing")},
	"PropertyIsNumber":    {"It would match no bean.", "metricCustomizers: [{mbeanFilter: {domain: a, properties: {b: 1}}, attributesAsLabels: []}]", stricter(1, "a value of metricCustomizers[0].mbeanFilter.properties must be a string and is an integer; put it in quotes")},

	"HostPort": {"It asks for another JVM.", "rules: []\nhostPort: 127.0.0.1:9999",
		forbids(2, "hostPort is not allowed: it names a JVM other than the one that the agent is loaded into")},
	"JMXURL": {"So does this.", "jmxUrl: service:jmx:rmi:///jndi/rmi://127.0.0.1:9999/jmxrmi",
		forbids(1, "jmxUrl is not allowed: it names a JVM other than the one that the agent is loaded into")},
	"HTTPServer": {"The stock agent's own part of the file.", "httpServer: {authentication: {basic: {username: a, password: b}}}",
		forbids(1, "httpServer is not allowed: the agent serves plain HTTP on the port of the PrometheusJmxExporter, without the stock exporter's TLS, authentication and thread pool")},
	"OpenTelemetry": {"The same.", "openTelemetry:\n  endpoint: http://127.0.0.1:4317\n",
		forbids(2, "openTelemetry is not allowed: the agent has no OpenTelemetry exporter; it is scraped by Prometheus only")},

	"Tab":             {"YAML is not indented by tabs.", "rules:\n\t- pattern: a\n", notYAML(2, "the configuration is not YAML: found character that cannot start any token")},
	"Directive":       {"The exporter does not look at the version.", "%YAML 1.2\n---\nrules: []\n", ok},
	"UnclosedFlow":    {"The line is that where it begins.", "ssl: true\nrules: [a,\n\nssl: false\n", notYAML(2, "the configuration is not YAML: did not find expected ',' or ']'")},
	"UnclosedQuote":   {"The same.", "ssl: true\nusername: \"a\n\n\n", notYAML(2, "the configuration is not YAML: found unexpected end of stream")},
	"TabBeforeValue":  {"The exporter takes no tab there either.", "rules: []\nssl:\ttrue\n", notYAML(2, "a tab precedes a value; the exporter takes spaces only")},
	"Unclosed":        {"A list without its end.", "rules: [\n", notYAML(2, "the configuration is not YAML: did not find expected node content")},
	"NUL":             {"No text at all.", "rules: \x00", notYAML(1, "the configuration has a control character")},
	"Control":         {"Nor is this.", "rules: \x1b[0m", notYAML(1, "the configuration has a control character")},
	"SecondDocument":  {"A configuration is one.", "rules: []\n---\nrules: []\n", notYAML(2, "a second YAML document begins here; a configuration has only one")},
	"UnknownAnchor":   {"What follows the * may be a password.", "rules: []\npassword: *hunter2\n", notYAML(2, "the configuration is not YAML: an alias names an anchor that is not defined before it")},
	"JavaClass":       {"No class is constructed.", "rules: !!javax.script.ScriptEngineManager []", refused(1, "a tag is not one of the exporter's, or its value is not of that type")},
	"TagMismatch":     {"A tag does not convert.", "startDelaySeconds: !!int x", refused(1, "a tag is not one of the exporter's, or its value is not of that type")},
	"MergeOfList":     {"Only mappings can be merged.", "rules: [{<<: [a]}]", refused(1, "<< can merge only mappings, and this is a string")},
	"MergeIntoItself": {"It never ends.", "rules: [&a {<<: *a}]", stricter(1, "mappings are merged more than 50 deep, or into themselves")},
	"Deep":            {"The exporter bounds it.", "rules: [{pattern: a, value: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}]", refused(1, "lists and mappings are nested more than 50 deep")},
	"ManyAliases":     {"And the aliases to lists.", "rules: [&a {}" + strings.Repeat(", *a", 60) + "]", refused(1, "more than 50 aliases stand for lists or mappings")},
	"BillionLaughs": {"Merging multiplies nothing.", "rules:\n- &a {pattern: a}\n" +
		"- &b {<<: [*a,*a,*a,*a,*a,*a,*a]}\n- &c {<<: [*b,*b,*b,*b,*b,*b,*b]}\n- &d {<<: [*c,*c,*c,*c,*c,*c,*c]}\n" +
		"- &e {<<: [*d,*d,*d,*d,*d,*d,*d]}\n- &f {<<: [*e,*e,*e,*e,*e,*e,*e]}\n- {<<: [*f,*f,*f,*f,*f,*f,*f]}\n", ok},
}
