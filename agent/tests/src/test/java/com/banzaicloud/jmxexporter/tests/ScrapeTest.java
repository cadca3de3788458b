package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Everything that a Prometheus may ask is answered. */
@Tag("jvm")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ScrapeTest {

    private static final String TEXT = "text/plain; version=0.0.4; charset=utf-8";
    private static final String OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    private final int port = Jvm.freePort();
    private Jvm jvm;

    @BeforeAll
    void start() throws Exception {
        jvm = Jvm.run(Subject.class.getName(), SampleBeans.class.getName());
        jvm.load(Desired.running(port, jvm.file("config.yaml", "includeObjectNames: ['sample:*', 'java.lang:*']\n")));
    }

    @AfterAll
    void nothingWasPrinted() throws Exception {
        assertEquals(0, jvm.end());
        assertEquals(List.of("ready"), jvm.out());
        assertEquals(List.of(), jvm.err());
        jvm.close();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "| " + TEXT,
        "*/* | " + TEXT,
        "text/plain;version=0.0.4 | " + TEXT,
        "text/html | " + TEXT,
        // Prometheus 2 and 3, without and with native histograms.
        "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2 | " + OPEN_METRICS,
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,*/*;q=0.2 | " + OPEN_METRICS,
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2 | " + OPEN_METRICS,
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3 | " + TEXT,
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited | " + TEXT,
        "application/openmetrics-text;version=1.0.0;q=0,text/plain | " + TEXT,
        "application/openmetrics-text; version=0.0.1; Q=0.0, text/plain;q=0.1 | " + TEXT,
        "application/openmetrics-text;version=1.0.0;q=0,application/openmetrics-text;version=0.0.1;q=0.1 | " + OPEN_METRICS,
        "application/openmetrics-text;q=nothing | " + TEXT,
    })
    void formats(String accept, String contentType) throws Exception {
        String[] headers = accept == null ? new String[0] : new String[] {"Accept", accept};
        HttpResponse<byte[]> response = Scrape.get(port, "/metrics", headers);

        assertEquals(200, response.statusCode());
        assertEquals(contentType, response.headers().firstValue("Content-Type").orElse(""));
        String body = new String(response.body());
        assertTrue(body.contains("\nsample_Shop_QueueSize{name=\"north\",zone=\"\\\"a b\\\"\"} 7.0\n"), body);
        assertEquals(contentType.equals(OPEN_METRICS), body.endsWith("# EOF\n"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"gzip | true", "deflate, GZIP;q=0.5 | true", "identity | false", "gzip;q=0 | false", "gzip;q=0.000 | false", "xgzip | false"})
    void gzip(String encodings, boolean compressed) throws Exception {
        HttpResponse<byte[]> response = Scrape.get(port, "/metrics", "Accept-Encoding", encodings);
        assertEquals(compressed, response.headers().firstValue("Content-Encoding").isPresent());
        byte[] body = compressed ? new GZIPInputStream(new ByteArrayInputStream(response.body())).readAllBytes() : response.body();
        assertTrue(new String(body).contains("\nsample_Shop_QueueSize{"));
    }

    @Test
    void namesOfNoMetric() throws Exception {
        HttpResponse<byte[]> answer = Scrape.get(port, "/metrics?name%5B%5D=nosuch");
        assertEquals(200, answer.statusCode());
        assertEquals("", new String(answer.body()));
    }

    @Test
    void someNames() throws Exception {
        String body = new String(Scrape.get(port, "/metrics?name%5B%5D=sample_Shop_QueueSize&name[]=jmx_scrape_error".replace("[]", "%5B%5D")).body());
        assertEquals(List.of("jmx_scrape_error", "sample_Shop_QueueSize"),
                body.lines().filter(line -> line.startsWith("# TYPE")).map(line -> line.split(" ")[2]).sorted().toList());
    }

    @ParameterizedTest
    @CsvSource({"GET,/-/healthy,200", "HEAD,/metrics,200", "HEAD,/-/healthy,200", "HEAD,/metrics/,200", "GET,/metrics/,200", "GET,/,200", "HEAD,/,200", "GET,/metricsfoo,404", "GET,/metrics/foo,404", "POST,/metrics,405", "GET,/metrics?%zz,400"})
    void answers(String method, String path, int status) throws Exception {
        if (path.contains("%zz")) { // No client lets us ask that.
            try (Socket socket = new Socket("127.0.0.1", port)) {
                socket.getOutputStream().write((method + " " + path + " HTTP/1.0\r\n\r\n").getBytes());
                String line = new String(socket.getInputStream().readAllBytes()).split("\r\n")[0];
                assertEquals("HTTP/1.1 " + status + " Bad Request", line);
            }
            return;
        }
        assertEquals(status, Scrape.request(method, port, path).statusCode());
    }

    @Test
    void slashBehindTheMetricsIsIgnored() throws Exception {
        assertTrue(new String(Scrape.get(port, "/metrics/").body()).contains("\nsample_Shop_QueueSize{"));
    }

    /** The root page names the paths that are served. */
    @Test
    void rootSaysWhatIsWhere() throws Exception {
        HttpResponse<byte[]> root = Scrape.get(port, "/");
        assertEquals("text/plain; charset=utf-8", root.headers().firstValue("Content-Type").orElse(""));
        String body = new String(root.body());
        assertTrue(body.contains("/metrics ") && body.contains("/-/healthy "), body);
    }

    /** An application's MBean that throws costs its own attribute only, and says nothing on the output. */
    @Test
    void failingAttributes() throws Exception {
        String body = Scrape.metrics(port);
        assertTrue(body.contains("\nsample_Plain_Number 1.0E300\n"), body);
        assertTrue(body.contains("\njmx_scrape_error 0.0\n"), body);
    }

    /** Two wait for clients, one is for each connection while it lasts; one is kept for the next. */
    @Test
    void threadsAreFewAndModest() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 50; i++) {
                Socket socket = new Socket("127.0.0.1", port);
                silent.add(socket);
                socket.getOutputStream().write("GET ".getBytes());
            }
            List<String> threads = jvm.threads("jmx-exporter-http.*");
            assertTrue(threads.size() > 2 && threads.size() <= 18, threads.toString());
            assertTrue(threads.stream().allMatch(line -> line.contains(" daemon prio=5 ")), threads.toString());
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
        Jvm.until("the threads but one end with their connections", () -> jvm.threads("jmx-exporter-http-\\d+").size() == 1);
        assertTrue(Scrape.metrics(port).contains("jmx_scrape_error"));
    }

    /** Each is answered, none with half of it. */
    @Test
    void concurrentScrapes() throws Exception {
        ExecutorService scrapers = Executors.newFixedThreadPool(8);
        try {
            List<Callable<String>> scrapes = Collections.nCopies(64, () -> Scrape.metrics(port));
            for (Future<String> scrape : scrapers.invokeAll(scrapes)) {
                assertTrue(scrape.get().contains("\nsample_Plain_Number 1.0E300\n"));
            }
        } finally {
            scrapers.shutdownNow();
        }
    }
}
