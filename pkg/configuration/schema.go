package configuration

// All keys that the collector knows, in the version that the agent contains, and the
// values that they may have. TestCollector compares them with the collector itself.
var (
	root     = mapping(rootKeys)
	rootKeys = keys{
		"lowercaseOutputName":             boolean,
		"lowercaseOutputLabelNames":       boolean,
		"inferCounterTypeFromName":        boolean,
		"autoExcludeObjectNameAttributes": boolean,
		"excludeJvmMetrics":               orNull(boolean),
		"startDelaySeconds":               seconds,
		"includeObjectNames":              list(text),
		"excludeObjectNames":              list(text),
		"whitelistObjectNames":            list(text),
		"blacklistObjectNames":            list(text),
		"includeObjectNameAttributes":     anyKey(text, list(text)),
		"excludeObjectNameAttributes":     anyKey(text, list(text)),
		"rules":                           list(rule),
		"metricCustomizers":               list(customizer),

		// These apply to a remote JVM, and have no effect in an agent.
		"username": orNull(text),
		"password": orNull(text),
		"ssl":      boolean,

		"hostPort": forbidden("it names a JVM other than the one that the agent is loaded into"),
		"jmxUrl":   forbidden("it names a JVM other than the one that the agent is loaded into"),
		"httpServer": forbidden("the agent serves plain HTTP on the port of the PrometheusJmxExporter, " +
			"without the stock exporter's TLS, authentication and thread pool"),
		"openTelemetry": forbidden("the agent has no OpenTelemetry exporter; it is scraped by Prometheus only"),
	}

	rule = mapping(keys{
		"pattern":           notMapping,
		"name":              orNull(text),
		"value":             anyValue,
		"valueFactor":       number,
		"help":              orNull(text),
		"attrNameSnakeCase": boolean,
		"type": oneOf("GAUGE", "COUNTER", "UNTYPED", "UNKNOWN",
			// Older exporters had these types; the collector serves them as untyped.
			"HISTOGRAM", "GAUGE_HISTOGRAM", "SUMMARY", "INFO", "STATE_SET"),
		"cache":  boolean,
		"labels": anyKey(text, text),
	}, needs("name", "pattern"), needs("value", "pattern"), needs("help", "name"), needs("labels", "name"))

	customizer = mapping(keys{
		"mbeanFilter": mapping(keys{
			"domain":     text,
			"properties": anyKey(text, text),
		}, required("domain")),
		"attributesAsLabels": orNull(list(text)),
		"extraMetrics": orNull(list(mapping(keys{
			"name":        text,
			"value":       notNull,
			"description": orNull(text),
		}, required("name"), required("value")))),
	}, required("mbeanFilter"), required("attributesAsLabels", "extraMetrics"))
)
