package com.banzaicloud.jmxexporter.exporter;

/** Why something desired is not done: a reason of the protocol, and a sentence that names the value and what to do. */
final class Rejection extends Exception {

    private static final long serialVersionUID = 1;
    /** It stays in the JVM's system properties, and the collector quotes whole rules. */
    private static final int MAX_CHARACTERS = 1000;

    private final String reason;

    private Rejection(String reason, String sentence) {
        super(sentence.length() <= MAX_CHARACTERS ? sentence : sentence.substring(0, MAX_CHARACTERS) + "…");
        this.reason = reason;
    }

    static Rejection portInUse(String sentence) {
        return new Rejection("PortInUse", sentence);
    }

    static Rejection configuration(String sentence) {
        return new Rejection("ConfigRejected", sentence);
    }

    static Rejection security(String sentence) {
        return new Rejection("SecurityRejected", sentence);
    }

    static Rejection failed(String sentence) {
        return new Rejection("AgentFailed", sentence);
    }

    static Rejection tooLarge(String sentence) {
        return new Rejection("CollectionTooLarge", sentence);
    }

    static Rejection tooExpensive(String sentence) {
        return new Rejection("RuleTooExpensive", sentence);
    }

    static Rejection incomplete(String sentence) {
        return new Rejection("TrialIncomplete", sentence);
    }

    String reason() {
        return reason;
    }

    /** Reports whether the configuration is the cause. */
    boolean isOfConfiguration() {
        return reason.equals("ConfigRejected") || reason.equals("CollectionTooLarge");
    }
}
