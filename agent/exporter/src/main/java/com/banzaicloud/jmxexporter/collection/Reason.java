package com.banzaicloud.jmxexporter.collection;

/** Why something is not served. docs/agent.md explains each. */
public enum Reason {

    /** The MBean throws when it is asked what it has, or for each of its attributes. */
    MBEAN_UNREADABLE("MBeanUnreadable"),
    /** The MBean answers with an attribute that it does not declare. */
    UNDECLARED_ATTRIBUTE("UndeclaredAttribute"),
    /** No sample can be made: a label is given twice, a rule names a group that its pattern does not have, a value throws. */
    INVALID_SAMPLE("InvalidSample"),
    /** The type of the metric does not allow the value: a counter is negative. */
    INVALID_VALUE("InvalidValue"),
    /** Another sample has the same name and labels. */
    DUPLICATE_SAMPLE("DuplicateSample"),
    /** Another metric of another type is exposed under the name. */
    CONFLICTING_TYPE("ConflictingType"),
    /** The metric has the name of one of the agent's own. */
    RESERVED_NAME("ReservedName"),
    /** One of the agent's own metrics cannot be read. */
    METRIC_UNREADABLE("MetricUnreadable");

    private final String name;

    Reason(String name) {
        this.name = name;
    }

    /** As it is spelled in metrics and in the mark. */
    @Override
    public String toString() {
        return name;
    }
}
