package com.banzaicloud.jmxexporter.tests;

import com.sun.tools.attach.AgentLoadException;
import com.sun.tools.attach.VirtualMachine;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.lang.reflect.Method;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A JVM with an application in it, and what an operator's helper can do to it: load, desire, read the mark. */
final class Jvm implements AutoCloseable {

    /** The runtime of the applications, perhaps without tools. */
    static final Path HOME = Path.of(System.getProperty("subject", System.getProperty("java.home")));
    /** Options of every application; what a test gives comes after them. */
    private static final List<String> OPTIONS = Stream.of(System.getProperty("subject.options", "").split(" ")).filter(option -> !option.isEmpty()).toList();
    static final Path AGENT = Path.of(System.getProperty("jars"), "agent.jar");
    static final Path EXPORTER = Path.of(System.getProperty("jars"), "exporter.jar");
    static final Path STOCK = Path.of(System.getProperty("jars"), "stock.jar");

    /** The applications alone, so that the agents' jars are not on their class path. */
    private static final Path SUBJECTS = Path.of(System.getProperty("jars"), "subjects.jar");
    /** Long, for machines that do more than this: what holds is seen at once. */
    private static final Duration CONDITION_TIMEOUT = Duration.ofMinutes(3);

    final Process process;
    private final Path directory;
    private final Path out;
    private final Path err;
    private VirtualMachine vm;
    private int acknowledged;

    private Jvm(Path home, List<String> arguments) throws IOException {
        this(List.of(), home, SUBJECTS, arguments);
    }

    private Jvm(List<String> prefix, Path home, Path classPath, List<String> arguments) throws IOException {
        directory = Files.createTempDirectory("jmx-exporter-test");
        out = directory.resolve("out");
        err = directory.resolve("err");
        List<String> command = new ArrayList<>(prefix);
        command.add(home.resolve("bin/java").toString());
        command.addAll(OPTIONS);
        command.addAll(List.of("-cp", classPath.toString()));
        command.addAll(arguments);
        Instant before = Instant.now();
        process = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        removeStaleSocket(before);
        until("the application is ready", () -> Files.size(out) > 0);
    }

    /**
     * Removes the attach socket that a killed JVM with the same pid left behind. HotSpot does so itself at its start,
     * unless the socket is another user's in a sticky directory; then nobody attaches.
     */
    private void removeStaleSocket(Instant started) throws IOException {
        if (Files.exists(attachSocket()) && Files.getLastModifiedTime(attachSocket()).toInstant().isBefore(started)) {
            Files.deleteIfExists(attachSocket());
        }
    }

    private Path attachSocket() {
        return Path.of("/tmp/.java_pid" + process.pid());
    }

    /** The subject, with these options of the JVM. */
    static Jvm start(String... options) throws IOException {
        return start(HOME, options);
    }

    /** The subject in another Java runtime. */
    static Jvm start(Path home, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(options));
        arguments.add(Subject.class.getName());
        return new Jvm(home, arguments);
    }

    /** As {@link #run}, as another user, with a copy of the subjects' jar where this user can read it. */
    static Jvm runAs(Users user, Path readable, String... arguments) throws IOException {
        return new Jvm(user.prefix(), HOME, Files.copy(SUBJECTS, readable.resolve("subjects.jar")), List.of(arguments));
    }

    /** Options, main class and arguments as given. */
    static Jvm run(String... arguments) throws IOException {
        return new Jvm(HOME, List.of(arguments));
    }

    /** As {@link #run}, with no more than this many file descriptors. */
    static Jvm limited(int descriptors, String... arguments) throws IOException {
        return new Jvm(List.of("sh", "-c", "ulimit -n " + descriptors + " && exec \"$@\"", "sh"), HOME, SUBJECTS, List.of(arguments));
    }

    /** The application's class path, and what else shall be on it. */
    static String classPath(Path... more) {
        StringBuilder path = new StringBuilder(SUBJECTS.toString());
        for (Path entry : more) {
            path.append(':').append(entry);
        }
        return path.toString();
    }

    /** As {@link Ports#free}. */
    static int freePort() {
        return Ports.free();
    }

    /** A file in a directory of this JVM's test. */
    Path file(String name, String content) throws IOException {
        return Files.writeString(directory.resolve(name), content);
    }

    /** The lines of a thread dump that begin a thread with such a name. */
    List<String> threads(String pattern) throws Exception {
        return jcmd("Thread.print").lines().filter(line -> line.matches("\"(" + pattern + ")\".*")).toList();
    }

    /** Files of the kernel about the threads with such a name: /proc/&lt;pid>/task/&lt;tid>, by name. */
    Map<String, Path> tasks(String pattern) throws Exception {
        Map<String, Path> tasks = new TreeMap<>();
        for (String line : threads(pattern)) {
            Matcher id = Pattern.compile(" nid=(\\S+) ").matcher(line); // Hexadecimal, in later versions decimal.
            if (!id.find()) {
                throw new AssertionError(line);
            }
            tasks.put(line.replaceAll("^\"([^\"]*)\".*", "$1"), Path.of("/proc/" + process.pid() + "/task/" + Long.decode(id.group(1))));
        }
        return tasks;
    }

    Path desiredFile() {
        return directory.resolve("desired");
    }

    /** Sends the subject a line, and waits until it has done what that says. */
    void tell(String line) throws IOException {
        Writer in = process.outputWriter();
        in.write(line + "\n");
        in.flush();
        acknowledged++;
        until("the subject did: " + line, () -> out().stream().filter("ok"::equals).count() == acknowledged);
    }

    /** What the subject answers to a line. */
    String ask(String line) throws IOException {
        tell(line);
        List<String> out = out();
        return out.get(out.size() - 2); // before the "ok"
    }

    /** Loads the agent and waits for the answer to what is desired. */
    Map<String, String> load(Desired desired) throws Exception {
        desired.write(desiredFile());
        loadAgent(AGENT, desiredFile().toString());
        return answer(desired);
    }

    void loadAgent(Path jar, String argument) throws Exception {
        try {
            attached().loadAgent(jar.toString(), argument);
        } catch (AgentLoadException e) {
            if (!e.getMessage().matches("(Failed to load agent library: )?0")) { // Success as Java 8 says it, which later clients take for an error.
                throw e;
            }
        }
    }

    /** Replaces what is desired and waits for the answer. */
    Map<String, String> desire(Desired desired) throws Exception {
        desired.write(desiredFile());
        return answer(desired);
    }

    Map<String, String> answer(Desired desired) throws Exception {
        return markWith(mark -> desired.token().equals(mark.get("token")) && !"starting".equals(mark.get("state")));
    }

    /** The mark, as soon as it is as expected. */
    Map<String, String> markWith(Predicate<Map<String, String>> expected) throws Exception {
        until("the mark is as expected", () -> expected.test(mark()));
        return mark();
    }

    /** The mark as it is; empty when there is none. */
    Map<String, String> mark() throws Exception {
        return parse(attached().getSystemProperties());
    }

    private static Map<String, String> parse(Properties properties) {
        Map<String, String> mark = new TreeMap<>();
        String text = properties.getProperty("com.banzaicloud.jmxexporter", "");
        for (String pair : text.isEmpty() ? new String[0] : text.split("&")) {
            String[] parts = pair.split("=", 2);
            mark.put(URLDecoder.decode(parts[0], StandardCharsets.UTF_8), URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        return mark;
    }

    private VirtualMachine attached() throws Exception {
        if (vm == null) {
            vm = VirtualMachine.attach(String.valueOf(process.pid()));
        }
        return vm;
    }

    /** What the JVM answers to a diagnostic command, asked as jcmd does, which would be another JVM each time. */
    String jcmd(String command) throws Exception {
        Method execute = Class.forName("sun.tools.attach.HotSpotVirtualMachine").getMethod("executeJCmd", String.class);
        ByteArrayOutputStream answer = new ByteArrayOutputStream();
        try (InputStream in = (InputStream) execute.invoke(attached(), command)) {
            in.transferTo(answer); // Reading into the middle of a buffer, as readAllBytes does, fails in this stream.
        }
        return answer.toString(StandardCharsets.UTF_8);
    }

    /** The files that the process has open. */
    List<String> openFiles() throws IOException {
        try (var links = Files.list(Path.of("/proc/" + process.pid() + "/fd"))) {
            return links.map(link -> {
                try {
                    return Files.readSymbolicLink(link).toString();
                } catch (IOException closedMeanwhile) {
                    return "";
                }
            }).toList();
        }
    }

    List<String> out() throws IOException {
        return Files.readAllLines(out);
    }

    /** What the application wrote to its stderr: without the four lines that JDK 21 and later print at a load. */
    List<String> err() throws IOException {
        return Files.readAllLines(err).stream().filter(line -> !line.matches(
                "WARNING: (A Java agent has been loaded dynamically|If a serviceability tool is|Dynamic loading of agents).*")).toList();
    }

    /** Ends the subject's input, and with it its main; returns its exit code. */
    int end() throws Exception {
        process.getOutputStream().close();
        if (!process.waitFor(CONDITION_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
            throw new AssertionError("the application does not exit:\n" + jcmd("Thread.print"));
        }
        return process.exitValue();
    }

    /** Waits for a condition. */
    static void until(String what, Condition condition) {
        Instant end = Instant.now().plus(CONDITION_TIMEOUT);
        long pause = 5; // Grows: to look at a thread dump or at a heap costs more than to wait.
        try {
            while (!condition.holds()) {
                if (Instant.now().isAfter(end)) {
                    throw new AssertionError("not in " + CONDITION_TIMEOUT + ": " + what);
                }
                Thread.sleep(pause);
                pause = Math.min(2 * pause, 100);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError("while waiting until " + what, e);
        }
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly().onExit().join();
        Files.deleteIfExists(attachSocket());
        try (var files = Files.walk(directory)) {
            files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }
}
