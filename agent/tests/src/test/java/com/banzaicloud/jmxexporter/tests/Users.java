package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Users that share a directory, the JVM's own and an attacker; and one who has nothing but one JVM. */
enum Users {
    JVM(1000),
    FOREIGN(2000),
    LIMITED(3000);

    private final int id;

    Users(int id) {
        this.id = id;
    }

    /** What is put before a command to run it as this user; only root can. */
    List<String> prefix() {
        return List.of("setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups");
    }

    /** Runs a shell script as this user, which must succeed. */
    void run(Path directory, String script, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(prefix());
        command.addAll(List.of("sh", "-euc", script, "sh"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), script + ": " + output);
    }
}
