import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.MXBean;
import javax.management.ObjectName;

/**
 * An application with MBeans of its own that knows nothing of Prometheus. It works a little, prints one line when
 * it is ready, and runs until it is told to end. As the first process of a container it ends on SIGTERM, since a
 * JVM has handlers of its own for it.
 *
 * <p>System properties, for tests: {@code dummy.requests} fixes the counter instead of letting it grow,
 * {@code dummy.port} keeps that TCP port busy, {@code dummy.exitAfter} ends main after so many seconds,
 * {@code dummy.replaceProperties=true} makes a copy of the system properties and replaces them with it once a
 * second, as some application servers do.
 */
public final class DummyApp {

    private DummyApp() {}

    /** Requests served. */
    @MXBean
    public interface Requests {
        long getTotal();
    }

    /** Work that waits. */
    @MXBean
    public interface Queue {
        int getSize();
    }

    /** Connections, as one composite. */
    @MXBean
    public interface Pool {
        PoolUsage getUsage();
    }

    /** The parts of the composite. */
    public static final class PoolUsage {
        private final int active;
        private final int idle;
        private final int max;

        public PoolUsage(int active, int idle, int max) {
            this.active = active;
            this.idle = idle;
            this.max = max;
        }

        public int getActive() {
            return active;
        }

        public int getIdle() {
            return idle;
        }

        public int getMax() {
            return max;
        }
    }

    /** As a Java agent, which it is where a test wants one that is none of an exporter, it does nothing. */
    public static void premain(String arguments) {}

    public static void main(String[] args) throws Exception {
        AtomicLong requests = new AtomicLong(Long.getLong("dummy.requests", 0));
        register("dummyapp:type=Requests,endpoint=/orders", (Requests) requests::get);
        register("dummyapp:type=Queue,name=orders", (Queue) () -> 7);
        register("dummyapp:type=Pool,name=database", (Pool) () -> new PoolUsage(3, 5, 8));

        Integer port = Integer.getInteger("dummy.port");
        ServerSocket busy = port == null ? null : new ServerSocket(port);

        fill(Long.getLong("dummy.tasks", 0));

        boolean works = System.getProperty("dummy.requests") == null;
        boolean replaces = Boolean.getBoolean("dummy.replaceProperties");
        long seconds = Long.getLong("dummy.exitAfter", Long.MAX_VALUE);
        System.out.println("dummyapp is ready" + (busy == null ? "" : ", listening on " + busy.getLocalPort()));

        CountDownLatch never = new CountDownLatch(1);
        for (long second = 0; second < seconds; second++) {
            never.await(1, TimeUnit.SECONDS);
            if (works) {
                requests.addAndGet(10);
            }
            if (replaces) {
                java.util.Properties copy = new java.util.Properties();
                for (String name : System.getProperties().stringPropertyNames()) {
                    if (!name.startsWith("com.banzaicloud")) {
                        copy.setProperty(name, System.getProperty(name));
                    }
                }
                System.setProperties(copy);
            }
        }
    }

    /** Starts threads until the process has so many. */
    private static void fill(long tasks) {
        while (new java.io.File("/proc/self/task").list().length < tasks) {
            Thread idle = new Thread(java.util.concurrent.locks.LockSupport::park);
            idle.setDaemon(true);
            idle.start();
        }
    }

    private static void register(String name, Object bean) throws Exception {
        ManagementFactory.getPlatformMBeanServer().registerMBean(bean, new ObjectName(name));
    }
}
