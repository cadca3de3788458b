import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** A job with checkpoints and the JMX reporter: a slow source, and a task after a shuffle, until it is killed. */
public final class Job {

    private Job() {}

    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("metrics.reporter.jmx.factory.class", "org.apache.flink.metrics.jmx.JMXReporterFactory");
        configuration.setString("execution.checkpointing.interval", "1s");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, configuration);
        environment.fromSequence(0, Long.MAX_VALUE)
                .map(Job::wait)
                .returns(Long.class)
                .rebalance()
                .map(order -> order)
                .returns(Long.class)
                .name("store")
                .sinkTo(new DiscardingSink<>());
        environment.execute("orders");
    }

    private static Long wait(Long order) throws InterruptedException {
        Thread.sleep(5);
        return order;
    }
}
