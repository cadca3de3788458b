// Package applications runs real applications, each in a JVM on this machine, loads the
// agent as the operator does, and compares what the rule sets of config/rules and the
// dashboards make of their MBeans. The script build gets the applications as they are
// released.
package applications
