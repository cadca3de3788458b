package configuration

import (
	"fmt"
	"strings"
)

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
	// warnings are those of Validate about an accepted configuration.
	warnings  Warnings
	collector verdict
	// rejected is whether the agent rejects in the canary's JVM what Validate accepts.
	rejected bool
}

func refused(line int, message string) want {
	return want{err: &Error{ConfigInvalid, line, message}, collector: refuses}
}

// unknown is accepted by both, with a warning about the keys on these lines.
func unknown(lines string) want {
	return want{warnings: Warnings{Unknown: lines}, collector: accepts}
}

// noEffect is accepted by both, with a warning about these keys.
func noEffect(keys string) want {
	return want{warnings: Warnings{Ineffective: keys}, collector: accepts}
}

// looser is accepted by Validate and the agent, which removes these keys before the
// collector sees them. The collector rejects it.
func looser(keys string) want {
	return want{warnings: Warnings{Ineffective: keys}, collector: refuses}
}

// repeats is accepted by both, with a warning about keys that are given again.
func repeats(lines string) want {
	return want{warnings: Warnings{Repeated: lines}, collector: accepts}
}

// stricter is rejected by Validate and accepted by the collector.
func stricter(line int, message string) want {
	return want{err: &Error{ConfigInvalid, line, message}, collector: accepts}
}

// large is rejected by Validate and the agent and accepted by the collector.
func large(line int) want {
	return want{err: &Error{ConfigTooLarge, line, "with aliases expanded, the configuration has more than 524288 bytes, where each key, value, list and " +
		"mapping counts 16 in addition to its text; it is kept on the application's heap"}, collector: accepts}
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
var rejected = want{collector: refuses, rejected: true}

// looserUnknown is accepted by Validate and the agent, which drops the unknown key; the
// collector makes objects of what is below it.
var looserUnknown = want{warnings: Warnings{Unknown: "line 1"}, collector: refuses}

const otherHostMessage = "it names another host, and the agent serves only the JVM that it is loaded into. Remove the key"

// manyMerges merges one mapping into 49: with 24 000 keys, it has 188 KB.
func manyMerges(key string, size int) string {
	var all strings.Builder
	all.WriteString("x: &a {k0")
	for i := range size {
		fmt.Fprintf(&all, ",k%d", i+1)
	}
	return all.String() + "}\n" + key + ": [" + strings.Repeat("{<<: *a}, ", 49) + "]\n"
}

const aRule = `- pattern: 'kafka.server<type=(.+), name=(.+), clientId=(.+), topic=(.*), partition=(.*)><>Value'
  name: kafka_server_$1_$2
  type: GAUGE
  labels:
    clientId: "$3"
    topic: "$4"
    partition: "$5"
`

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

type tableRow struct {
	reason string
	args   string
	want   want
}

var configurations = map[string]tableRow{
	"Everything":       {"Every key is known.", everything, noEffect("username, password, ssl")},
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
	"NothingAllowed":   {"These keys need no value.", "excludeJvmMetrics:\nusername:\npassword:\nrules:\n- {pattern: , name: , value: , help: }", noEffect("username, password")},
	"NumbersAsPattern": {"The collector turns any pattern into a string.", "rules: [{pattern: 1}, {pattern: [a-z]}, {pattern: 2020-01-01}]", ok},
	"AnyValue":         {"And any value.", "rules: [{pattern: a, value: 1}, {pattern: a, value: yes}, {pattern: a, value: 1e3}]", ok},
	"Factors":          {"A factor may be a string.", "rules: [{valueFactor: 1_000}, {valueFactor: '0.5'}, {valueFactor: ' 1e-3f '}, {valueFactor: 0x10}, {valueFactor: .inf}, {valueFactor: NaN}]", ok},
	"Merge":            {"A rule may be merged from another.", "rules:\n- &a {pattern: a, name: b, cache: true}\n- <<: *a\n  name: c\n- <<: [*a, {help: d}]\n", ok},
	"Tags":             {"A tag says what a value is.", "rules: [!!map {pattern: !!str 1, name: !!str yes, cache: !!bool no, valueFactor: !!float 1}]", ok},
	"LargeDelay":       {"It is a Java Integer, in any of its forms.", "startDelaySeconds: 0x7fff_ffff", ok},
	"EmptyObjectName":  {"It is the same as *:*.", "includeObjectNames: ['']", ok},
	"SelfReference":    {"Nobody writes a value that holds itself.", "rules: [{pattern: a, value: &a [*a]}]", stricter(1, "an alias stands for a list or mapping that contains it")},
	"OldTypes":         {"What older exporters had is served untyped.", "rules: [{type: UNTYPED}, {type: HISTOGRAM}]", ok},

	"UnknownKey": {"The exporter ignores it: a typing error is told with what was meant.", "\nlowercaseOutputNames: true",
		unknown(`line 2 (did you mean "lowercaseOutputName"?)`)},
	"UnknownKeyOfRule": {"A rule's key at the top, as in two of the exporter's examples.", "attrNameSnakeCase: true\nrules: [{pattern: a}]",
		unknown("line 1")},
	"UnknownKeyAny": {"Whatever its value is.", "extra: {rules: [1, {hostPort: a}], b: }\n", unknown("line 1")},
	"UnknownKeys": {"A few are named, the others counted.", "a1: 1\nb2: 1\nc3: 1\nd4: 1\ne5: 1",
		unknown("line 1, line 2, line 3, and 2 more")},
	"UnknownKeyAndError": {"What is wrong beside it is refused.", "collectors: 1\nrules: 1",
		refused(2, "rules must be a list and is an integer")},
	"UnknownKeyInCustomizer": {"In all that it knows the exporter's keys count.", "metricCustomizers: [{mbeanFilter: {domain: a, property: {}}, attributesAsLabels: []}]",
		stricter(1, "unknown key in metricCustomizers[0].mbeanFilter")},
	"UnknownKeyInRule": {"In a rule as well, with the rule.", "rules:\n- pattern: a\n- patern: b\n",
		stricter(3, `unknown key in rules[1]; did you mean "pattern"?`)},
	"UnknownKeyFarOff": {"Nothing is suggested for what resembles nothing.", "collectors: 1",
		unknown("line 1")},
	"UnknownKeyWrongCase": {"Case matters to the collector.", "rules: [{attrnamesnakecase: true}]",
		stricter(1, `unknown key in rules[0]; did you mean "attrNameSnakeCase"?`)},
	"UnknownKeySecret": {"A key may be a value gone astray, or a secret of the ConfigMap: it is not repeated.", "hunter2: 1", unknown("line 1")},
	"KeyIsNoString":    {"A plain yes is a boolean.", "yes: 1", unknown("line 1")},
	"KeyIsList":        {"YAML allows it.", "? [a]\n: 1", unknown("line 1")},
	"DuplicateKey": {"The last one counts, and the others are not looked at.", "rules: 7\n\nrules: []",
		repeats("line 1 (again on line 3)")},
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

	"ObjectNamesNothing": {"The collector fails on it.", "includeObjectNames:", refused(1, "includeObjectNames must be a list and is nothing")},
	"ObjectNameMissing":  {"An item without a value.", "includeObjectNames: [ , ]", notYAML(1, "the configuration is not YAML: did not find expected node content")},
	"ObjectNameIsNumber": {"It is a string.", "includeObjectNames: [1]", refused(1, "includeObjectNames[0] must be a string and is an integer; put it in quotes")},
	"ObjectNameInvalid": {"A forgotten pattern of keys.", "includeObjectNames: ['java.lang']",
		refused(1, "includeObjectNames[0] is not an object name (domain:key=value,…): it has no colon after a domain")},
	"ObjectNameAsKey": {"As keys, too.", "excludeObjectNameAttributes: {'a:': [B]}",
		refused(1, "a key of excludeObjectNameAttributes is not an object name (domain:key=value,…): it has no properties after the colon")},
	"AttributesNothing": {"The collector fails on it.", "includeObjectNameAttributes: {'a:b=c': }", refused(1, "a value of includeObjectNameAttributes must be a list and is nothing")},
	"AttributeBoolean":  {"It would match no attribute.", "includeObjectNameAttributes: {'a:b=c': [On]}", stricter(1, "a value of includeObjectNameAttributes[0] must be a string and is a boolean; put it in quotes")},

	"CustomizersNothing":  {"The collector demands more.", "metricCustomizers:", refused(1, "metricCustomizers must be a list and is nothing")},
	"CustomizerNoFilter":  {"The same.", "metricCustomizers:\n- attributesAsLabels: [a]\n", refused(2, "metricCustomizers[0]: mbeanFilter is missing")},
	"CustomizerNoDomain":  {"The same.", "metricCustomizers: [{mbeanFilter: {}, attributesAsLabels: []}]", refused(1, "metricCustomizers[0].mbeanFilter: domain is missing")},
	"CustomizerNoUse":     {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}}]", refused(1, "metricCustomizers[0]: attributesAsLabels or extraMetrics is missing")},
	"CustomizerNoName":    {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{value: 1}]}]", refused(1, "metricCustomizers[0].extraMetrics[0]: name is missing")},
	"CustomizerNoValue":   {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{name: a}]}]", refused(1, "metricCustomizers[0].extraMetrics[0]: value is missing")},
	"CustomizerNullValue": {"The same.", "metricCustomizers: [{mbeanFilter: {domain: a}, extraMetrics: [{name: a, value: }]}]", refused(1, "metricCustomizers[0].extraMetrics[0].value must be a value and is nothing")},
	"PropertyIsNumber":    {"It would match no bean.", "metricCustomizers: [{mbeanFilter: {domain: a, properties: {b: 1}}, attributesAsLabels: []}]", stricter(1, "a value of metricCustomizers[0].mbeanFilter.properties must be a string and is an integer; put it in quotes")},

	"HostPortOtherHost": {"It asks for another JVM.", "rules: []\nhostPort: db:9999", forbids(2, "hostPort is not allowed: "+otherHostMessage)},
	"HTTPServer": {"The stock exporter's own part of the file.", "httpServer: {authentication: {basic: {username: a, password: b}}}",
		forbids(1, "httpServer is not allowed: the agent has its own server. Remove the section; for TLS and authentication, set "+
			"spec.endpointSecurity.secretName to a Secret with tls.crt, tls.key, username, passwordHash, saltText, algorithm, iterations")},
	"HTTPServerThreads": {"Nothing in it has an effect.", "rules: []\nhttpServer:\n  threads: {minimum: 1, maximum: 10, keepAliveTime: 120}\n",
		forbids(3, "httpServer is not allowed: the agent has its own server. Remove the section; for TLS and authentication, set "+
			"spec.endpointSecurity.secretName to a Secret with tls.crt, tls.key, username, passwordHash, saltText, algorithm, iterations")},
	"Standalone": {"As the standalone exporter's example begins.", "hostPort: localhost:5555\nusername: \npassword: \nrules:\n- pattern: \".*\"\n",
		noEffect("hostPort, username, password")},
	"ConnectionInMerge": {"What is merged into the root is in it.", "x: &x {hostPort: db:1}\n<<: *x", forbids(1, "hostPort is not allowed: "+otherHostMessage)},
	"ConnectionBelow":   {"In another mapping it is nothing.", "x: {hostPort: db:1, jmxUrl: a, httpServer: b}", unknown("line 1")},

	"DuplicateKeyInRule": {"As in the root.", "rules:\n- pattern: a\n  name: b\n  name: c\n- {pattern: d, pattern: e}", repeats("line 3 (again on line 4), line 5 (again on line 5)")},
	"DuplicateKeys":      {"A few are named, the others counted.", "rules: [{name: 1, name: 2, name: 3, name: 4, name: 5, pattern: a, name: b}]", repeats("line 1 (again on line 1), line 1 (again on line 1), line 1 (again on line 1), and 2 more")},
	"DuplicateKeyMerged": {"The last one of a merged mapping counts, too.", "x: &x {name: 1, name: b}\nrules: [{pattern: a, <<: *x}]",
		want{warnings: Warnings{Unknown: "line 1", Repeated: "line 1 (again on line 1)"}, collector: accepts}},
	"DuplicateKeyIsWrong": {"The last one is looked at.", "ssl: false\nrules: []\nrules: 7", refused(3, "rules must be a list and is an integer")},
	"DuplicateKeyForbidden": {"No other is.", "httpServer: {}\nrules: []\nhttpServer: {}", forbids(3, "httpServer is not allowed: the agent has its own server. Remove the section; for TLS and authentication, set "+
		"spec.endpointSecurity.secretName to a Secret with tls.crt, tls.key, username, passwordHash, saltText, algorithm, iterations")},

	"MergesOfUnknownKeys": {"49 mappings of 24 000 keys each.", manyMerges("extra", 24_000), large(1)},
	"MergesOfFewer":       {"They count as often as they are merged.", manyMerges("extra", 6000), large(2)},
	"MergesOfRules":       {"Below a known key, the same.", manyMerges("rules", 6000), large(2)},
	"RepeatedText":        {"Each pattern is compiled for itself.", "rules: [{pattern: &a '" + strings.Repeat("a", 100_000) + "'}" + strings.Repeat(", {pattern: *a}", 10) + "]", large(1)},
	"ManyNodes":           {"Nobody writes so much with so little in it.", "rules: [" + strings.Repeat("{}, ", 40_000) + "]", large(1)},
	"ManyRules":           {"A rule of 250 bytes 1000 times.", "rules:\n" + strings.Repeat(aRule, 1000), ok},
	"UnknownMerge":        {"What is merged must be a mapping, also where nobody looks.", "x: {<<: 1}", refused(1, "<< can merge only mappings, and this is an integer")},
	"UnknownAnything":     {"Otherwise nobody looks there.", "x: {? {a: b} : [~, {c: 1, c: 2}], d: !!binary a%b}", looserUnknown},

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
	"MergeIntoItself": {"It never ends.", "rules: [&a {<<: *a}]", stricter(1, "an alias stands for a list or mapping that contains it")},
	"Deep":            {"The exporter bounds it.", "rules: [{pattern: a, value: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}]", refused(1, "lists and mappings are nested more than 50 deep")},
	"ManyAliases":     {"And the aliases to lists.", "rules: [&a {}" + strings.Repeat(", *a", 60) + "]", refused(1, "more than 50 aliases stand for lists or mappings")},
	"BillionLaughs": {"Merging multiplies.", "rules:\n- &a {pattern: a}\n" +
		"- &b {<<: [*a,*a,*a,*a,*a,*a,*a]}\n- &c {<<: [*b,*b,*b,*b,*b,*b,*b]}\n- &d {<<: [*c,*c,*c,*c,*c,*c,*c]}\n" +
		"- &e {<<: [*d,*d,*d,*d,*d,*d,*d]}\n- &f {<<: [*e,*e,*e,*e,*e,*e,*e]}\n- {<<: [*f,*f,*f,*f,*f,*f,*f]}\n", large(7)},
}
