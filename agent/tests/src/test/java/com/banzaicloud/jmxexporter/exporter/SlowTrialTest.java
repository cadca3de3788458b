package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.HttpURLConnection;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** The judgement of a candidate in a container with little CPU. */
@Isolated("A candidate is not collected while another exporter of this JVM collects.")
@Timeout(120)
class SlowTrialTest {

    /** A thread that gets a tenth of a processor, as below a low limit of CPU, keeps clients waiting by the clock, and they learn why. */
    @Test
    void aSlowThreadEndsByTheClock(@TempDir Path directory) throws Exception {
        Exporter exporter = new Exporter();
        ObjectName name = new ObjectName("sample:type=Slow");
        SlowWork work = new SlowWork();
        ManagementFactory.getPlatformMBeanServer().registerMBean(work, name);
        Path config = Files.writeString(directory.resolve("config.yaml"), "excludeJvmMetrics: true\nincludeObjectNames: ['java.lang:type=Runtime']\n");
        Path candidate = Files.writeString(directory.resolve("candidate.yaml"), "includeObjectNames: ['sample:type=Slow']\n");
        int port;
        try (ServerSocket socket = new ServerSocket(0)) {
            port = socket.getLocalPort();
        }
        Map<String, String> desired = new HashMap<>(Map.of("state", "running", "port", String.valueOf(port), "host", "127.0.0.1", "config", config.toString()));
        try {
            exporter.apply(desired);
            desired.put("candidate", candidate.toString());
            desired.put("token", "1");
            CompletableFuture<Map<String, String>> judging = CompletableFuture.supplyAsync(() -> exporter.apply(desired));
            while (!work.begun.await(100, TimeUnit.MILLISECONDS)) {
                if (judging.isDone()) { // A thread of another test was about to end.
                    desired.put("token", desired.get("token") + "1");
                    judging = CompletableFuture.supplyAsync(() -> exporter.apply(desired));
                }
            }
            HttpURLConnection scrape = (HttpURLConnection) new URL("http://127.0.0.1:" + port + "/metrics").openConnection();
            scrape.setRequestProperty("X-Prometheus-Scrape-Timeout-Seconds", "0.1");
            assertEquals(503, scrape.getResponseCode());
            assertEquals("A configuration is being judged, which takes 3 seconds at most: ask again.\n", new String(scrape.getErrorStream().readAllBytes(), StandardCharsets.UTF_8));
            assertEquals("TrialIncomplete", judging.get().get("candidate.reason"), judging.get().toString());
        } finally {
            work.ended = true;
            exporter.apply(Map.of("state", "stopped"));
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
        }
    }

    /** One attribute. */
    public interface SlowWorkMBean {
        int getResult() throws IOException;
    }

    /** Works for a second, of which it gets a tenth at a time. In between it is in native code, as a thread that is not scheduled is runnable. */
    public static final class SlowWork implements SlowWorkMBean {

        private final CountDownLatch begun = new CountDownLatch(1);
        private volatile boolean ended;

        @Override
        public int getResult() throws IOException {
            begun.countDown();
            try (Selector nothing = Selector.open()) {
                for (int i = 0; i < 100 && !ended; i++) {
                    long until = System.nanoTime() + 10_000_000;
                    while (System.nanoTime() < until) {
                        Thread.onSpinWait();
                    }
                    nothing.select(90);
                }
            }
            return 1;
        }
    }
}
