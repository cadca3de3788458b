package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The demo's application and rules give the metrics that the demo promises. */
class DummyAppTest {

    @Test
    @Tag("jvm")
    void metrics() throws Exception {
        int port = Jvm.freePort();
        try (Jvm jvm = Jvm.run("-Ddummy.requests=42", "DummyApp")) {
            jvm.load(Desired.running(port, Path.of(System.getProperty("dummyapp.config"))));
            List<String> lines = Scrape.metrics(port).lines().filter(line -> line.matches("(# TYPE )?dummyapp_.*")).toList();
            assertEquals(List.of(
                    "# TYPE dummyapp_pool_active gauge",
                    "dummyapp_pool_active{pool=\"database\"} 3.0",
                    "# TYPE dummyapp_pool_idle gauge",
                    "dummyapp_pool_idle{pool=\"database\"} 5.0",
                    "# TYPE dummyapp_pool_max gauge",
                    "dummyapp_pool_max{pool=\"database\"} 8.0",
                    "# TYPE dummyapp_queue_size gauge",
                    "dummyapp_queue_size{queue=\"orders\"} 7.0",
                    "# TYPE dummyapp_requests_total counter",
                    "dummyapp_requests_total{endpoint=\"/orders\"} 42.0"), lines);
        }
    }

    @Test
    void exitsByItself() throws Exception {
        try (Jvm jvm = Jvm.run("-Ddummy.exitAfter=1", "DummyApp")) {
            assertEquals(0, jvm.process.onExit().get().exitValue());
            assertEquals(List.of("dummyapp is ready"), jvm.out());
            assertEquals(List.of(), jvm.err());
        }
    }
}
