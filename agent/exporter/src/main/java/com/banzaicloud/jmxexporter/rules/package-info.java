/**
 * Puts the collector's rules on a leash. The module agent-collector redirects the collector's references to
 * {@code java.util.regex} and to SnakeYAML's {@code Yaml} to the classes of this package.
 * {@link com.banzaicloud.jmxexporter.rules.Rules} is its door.
 */
package com.banzaicloud.jmxexporter.rules;
