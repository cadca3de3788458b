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
		"includeObjectNames":              list(objectName),
		"excludeObjectNames":              list(objectName),
		"whitelistObjectNames":            list(objectName),
		"blacklistObjectNames":            list(objectName),
		"includeObjectNameAttributes":     anyKey(objectName, list(text)),
		"excludeObjectNameAttributes":     anyKey(objectName, list(text)),
		"rules":                           list(rule),
		"metricCustomizers":               list(customizer),

		// These are for the connection of a standalone exporter, which often runs beside its
		// application, or push metrics. The agent removes them before the collector sees them.
		"hostPort":      ineffective(localHostPort),
		"jmxUrl":        ineffective(localURL),
		"username":      ineffective(anyValue),
		"password":      ineffective(anyValue),
		"ssl":           ineffective(anyValue),
		"openTelemetry": ineffective(anyValue),

		"httpServer": forbidden("the agent has its own server. Remove the section; for TLS and authentication, set " +
			"spec.endpointSecurity.secretName to a Secret with tls.crt, tls.key, username, passwordHash, saltText, algorithm, iterations"),
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
