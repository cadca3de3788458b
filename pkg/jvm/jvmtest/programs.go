//go:build linux

package jvmtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// application is the program that JVMs under test run. It prints "ready", executes
// commands from standard input, and exits at its end.
const application = `
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.logging.LogManager;
import javax.management.ObjectName;
import javax.management.StandardMBean;

public class App {
    public static void main(String[] args) throws Exception {
        if (Boolean.getBoolean("jvmtest.logmanager")) {
            work(200);
            System.setProperty("java.util.logging.manager", "App$Logs");
            work(1000);
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = in.readLine()) != null; ) {
            switch (line) {
                case "forget": System.setProperties(new Properties()); break;
                case "ping": break;
                case "slow": ManagementFactory.getPlatformMBeanServer().registerMBean(new StandardMBean(new Value(), SlowMBean.class), new ObjectName("app:type=Slow")); break;
                case "work": work(100); break;
                case "fill": fill(Long.getLong("jvmtest.leave")); break;
                case "empty": filled.clear(); System.gc(); break;
                case "class": Proxy.getProxyClass(new ClassLoader() { }, Runnable.class); break;
                case "logmanager":
                    if (!(LogManager.getLogManager() instanceof Logs)) System.out.println("the application's LogManager is not there");
                    break;
                default: throw new IllegalArgumentException(line);
            }
            System.out.println(line + " done");
        }
    }

    private static final List<byte[]> filled = new ArrayList<byte[]>();

    /** Fills the heap until so many bytes are free after a collection. */
    private static void fill(long leave) {
        Runtime runtime = Runtime.getRuntime();
        for (System.gc(); runtime.maxMemory() - runtime.totalMemory() + runtime.freeMemory() > leave; ) {
            filled.add(new byte[100000]);
        }
        System.gc();
    }

    /** Uses the main thread's CPU for so many milliseconds. */
    private static void work(long millis) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + millis * 1000000;
        while (threads.getCurrentThreadCpuTime() < end) { }
    }

    /** An MBean whose attribute takes longer to read than clients like to wait. */
    public interface SlowMBean { int getValue() throws InterruptedException; }

    private static class Value implements SlowMBean {
        public int getValue() throws InterruptedException { Thread.sleep(3000); return 1; }
    }

    /** A LogManager of the application's own, named before anybody logs. */
    public static class Logs extends LogManager { }

    /** A system class loader that takes no agents: it lacks a method for that. */
    public static class Loader extends ClassLoader {
        public Loader(ClassLoader parent) { super(parent); }
    }
}
`

// agent is a Java agent that counts its loads in a system property, and logs or throws if
// its options request it.
const agent = `
public class Agent {
    public static void agentmain(String options) {
        if ("log".equals(options)) java.util.logging.Logger.getLogger("agent");
        if ("throw".equals(options)) throw new IllegalStateException("as told");
        System.setProperty("jvmtest.agent", "loads=" + (++loads) + " options=" + options + " \u00e9\u4e16\ud83d\ude00:=#!\\");
    }
    private static int loads;
}
`

// sources are the programs, and compile turns them into jars, for Java 8 as long as the
// compiler supports it.
var sources = map[string]string{"App.java": application, "Agent.java": agent, "app.mf": "Main-Class: App\n", "agent.mf": "Agent-Class: Agent\n"}

const compile = `set -eu
cd "$1"
javac -encoding UTF-8 --release 8 -Xlint:-options App.java Agent.java
jar cfm app.jar app.mf App*.class
jar cfm agent.jar agent.mf Agent.class`

// jars returns a directory with both jars, which all users can read.
var jars = sync.OnceValues(func() (string, error) {
	compiled, err := compiledJars()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("/tmp", "jars")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chmod(dir, 0o755), os.CopyFS(dir, os.DirFS(compiled)))
})

// compiledJars returns a directory with both programs compiled.
func compiledJars() (string, error) {
	return cached(fmt.Append(nil, compile, sources), func(dir string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", compile, "sh", dir)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(found()[17].Home, "bin")+":"+os.Getenv("PATH"))
		return cmd
	}, sources)
}

// AgentJar returns the path of a Java agent that sets the system property jvmtest.agent
// to "loads=<n> options=<options> <characters that need escapes>".
func AgentJar(t *testing.T) string { return jar(t, "agent.jar") }

func jar(t *testing.T, name string) string {
	t.Helper()
	dir, err := jars()
	if err != nil {
		t.Fatalf("compiling for the tests: %v", err)
	}
	return filepath.Join(dir, name)
}
