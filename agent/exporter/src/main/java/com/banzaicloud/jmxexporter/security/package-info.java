/**
 * TLS and authentication of the endpoint: {@link com.banzaicloud.jmxexporter.security.SecurityFile} is what the agent
 * is given, {@link com.banzaicloud.jmxexporter.security.Guard} what lies between sockets, HTTP and the metrics.
 */
package com.banzaicloud.jmxexporter.security;
