/**
 * A small HTTP server for a guest in somebody else's JVM: blocking sockets, HTTP/1.0 and 1.1 (RFC 9110, RFC 9112),
 * and a bound on everything that a client can make it hold: connections, threads, bytes, time. It reads no system
 * property, asks no service provider, logs and prints nothing, and knows nothing of metrics.
 *
 * <p>{@link com.banzaicloud.jmxexporter.http.HttpServer} is the way in, a
 * {@link com.banzaicloud.jmxexporter.http.Handler} gives the answers. TLS is a
 * {@link com.banzaicloud.jmxexporter.http.Transport}, authentication a handler around another one: both are in package
 * {@code security}.
 */
package com.banzaicloud.jmxexporter.http;
