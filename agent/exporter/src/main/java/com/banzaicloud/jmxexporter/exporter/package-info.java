/**
 * The implementation behind the trampoline: serves the MBeans of its JVM to Prometheus with the libraries of
 * the stock exporter. {@link com.banzaicloud.jmxexporter.exporter.Exporter} is its door.
 */
package com.banzaicloud.jmxexporter.exporter;
