import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * An application that has as many series as its argument says, and does nothing. It reads commands of one character: with
 * a, it says how many bytes other threads have allocated; after w, it waits a minute where no thread of it is in native
 * code. It ends when its input does.
 */
public final class Subject {

    private static final int ATTRIBUTES = 5;
    /** Bytes by thread, also by those that have ended since. */
    private static final Map<Long, Long> ALLOCATED = new HashMap<>();

    private Subject() {}

    /** What a metrics library registers for one of its meters. */
    public interface MeterMBean {
        long getCount();

        double getMax();

        double getMean();

        double getMin();

        double getRate();
    }

    /** A meter that stands still, so that only the exporter works. */
    public static final class Meter implements MeterMBean {
        private final int number;

        Meter(int number) {
            this.number = number;
        }

        @Override
        public long getCount() {
            return number;
        }

        @Override
        public double getMax() {
            return number * 1.5;
        }

        @Override
        public double getMean() {
            return number / 3.0;
        }

        @Override
        public double getMin() {
            return number / 7.0;
        }

        @Override
        public double getRate() {
            return number * 0.001;
        }
    }

    public static void main(String[] args) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (int i = 0; i < Integer.parseInt(args[0]) / ATTRIBUTES; i++) {
            server.registerMBean(new Meter(i), new ObjectName("bench:type=Meter,name=meter-" + i % 50 + ",topic=topic-" + i / 50));
        }
        System.out.println("ready");
        for (int command = System.in.read(); command >= 0; command = System.in.read()) {
            if (command == 'a') {
                System.out.println(allocated());
            } else if (command == 'w') {
                System.out.println("waiting");
                Thread.sleep(60_000);
            }
        }
    }

    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        for (long id : threads.getAllThreadIds()) {
            if (id != Thread.currentThread().getId() && threads.getThreadAllocatedBytes(id) >= 0) { // -1 for one that has ended.
                ALLOCATED.put(id, threads.getThreadAllocatedBytes(id));
            }
        }
        long sum = 0;
        for (long bytes : ALLOCATED.values()) {
            sum += bytes;
        }
        return sum;
    }
}
