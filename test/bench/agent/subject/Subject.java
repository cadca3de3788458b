import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** An application that has as many series as its argument says, does nothing, and ends when its input does. */
public final class Subject {

    private static final int ATTRIBUTES = 5;

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
        // Runs until whoever started it closes its input, or is gone.
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            if (read == '\n') {
                System.out.println(allocatedByOthers());
            }
        }
    }

    /** Bytes that all other threads have allocated. */
    private static long allocatedByOthers() {
        com.sun.management.ThreadMXBean threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long id : threads.getAllThreadIds()) {
            if (id != Thread.currentThread().getId()) {
                sum += Math.max(0, threads.getThreadAllocatedBytes(id));
            }
        }
        return sum;
    }
}
