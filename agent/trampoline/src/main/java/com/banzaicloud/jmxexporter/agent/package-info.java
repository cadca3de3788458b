/**
 * The trampoline: what a JVM loads once and keeps for good, whatever a later jar holds. It speaks the
 * protocol of docs/agent-protocol.md and knows nothing of metrics; those are the implementation's, which it
 * loads, replaces and drops. Java 8 and the module java.base are all it needs.
 */
package com.banzaicloud.jmxexporter.agent;
