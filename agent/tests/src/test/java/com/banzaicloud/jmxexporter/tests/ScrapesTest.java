package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** However many ask, one collection runs, and the application's memory is for one answer at most. */
class ScrapesTest {

    private final int port = Jvm.freePort();

    /** The application needs some of its heap while scrapers keep asking. */
    @Test
    @Tag("full")
    void twoScrapersAndLittleHeap() throws Exception {
        try (Jvm jvm = Jvm.run("-Xmx128m", "-XX:+UseSerialGC", Subject.class.getName(), ManyBeans.class.getName())) {
            load(jvm);
            ExecutorService scrapers = Executors.newFixedThreadPool(4);
            try {
                for (int round = 0; round < 3; round++) {
                    List<Callable<Integer>> four = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        String encoding = i % 2 == 0 ? "gzip" : "identity";
                        four.add(() -> topics(Scrape.get(port, "/metrics", "Accept-Encoding", encoding)));
                    }
                    List<Future<Integer>> answers = scrapers.invokeAll(four);
                    assertEquals("out of memory: 0", jvm.ask("starved"));
                    for (Future<Integer> answer : answers) {
                        assertEquals(10_000, answer.get());
                    }
                }
            } finally {
                scrapers.shutdownNow();
            }
            assertEquals(0, jvm.end());
        }
    }

    private static int topics(HttpResponse<byte[]> response) throws Exception {
        assertEquals(200, response.statusCode(), () -> new String(response.body()));
        boolean gzip = response.headers().firstValue("Content-Encoding").isPresent();
        byte[] body = gzip ? new GZIPInputStream(new ByteArrayInputStream(response.body())).readAllBytes() : response.body();
        return (int) new String(body).lines().filter(line -> line.startsWith("sample_Topic_Partitions{")).count();
    }

    /** Clients that ask while a collection runs get its answer. */
    @Test
    void oneCollectionForAll() throws Exception {
        try (Jvm jvm = slow()) {
            List<Socket> clients = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                clients.add(request(""));
            }
            Jvm.until("all are being answered", () -> count(jvm, "ScrapeHandler.handle") >= 3);
            jvm.tell("release");
            for (Socket client : clients) {
                String answer = new String(client.getInputStream().readAllBytes());
                assertTrue(answer.startsWith("HTTP/1.1 200 ") && answer.contains("\nsample_Slow_Byte 0.0\n"), answer);
                client.close();
            }
            assertEquals("calls: 1", jvm.ask("calls"));
            assertEquals(0, jvm.end());
        }
    }

    /** While an MBean does not answer, others get a sentence, the health is answered, and nobody asks that MBean again. */
    @Test
    void hangingCollection() throws Exception {
        try (Jvm jvm = slow()) {
            for (int i = 0; i < 6; i++) {
                HttpResponse<byte[]> response = Scrape.get(port, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "0.5");
                assertEquals(503, response.statusCode());
                assertTrue(new String(response.body()).contains("collection"), new String(response.body()));
                HttpResponse<byte[]> health = Scrape.get(port, "/-/healthy");
                assertEquals(200, health.statusCode());
                assertFalse(health.headers().firstValue("Jmx-Exporter-Notices").isPresent(), "nothing is known yet");
            }
            assertEquals("calls: 1", jvm.ask("calls"));
            jvm.tell("release");
            assertTrue(Scrape.metrics(port).contains("\nsample_Slow_Byte 0.0\n"));
            assertEquals("open: true, harmed: 0", jvm.ask("report"));
            assertEquals(0, jvm.end());
        }
    }

    /** A configuration that leaves out what hangs is served though the collection by the last one still hangs. */
    @Test
    @Tag("full")
    void otherConfigurationWhileOneHangs() throws Exception {
        try (Jvm jvm = slow()) {
            jvm.desire(Desired.running(port, jvm.file("other.yaml", "excludeObjectNames: ['sample:*']\n")));
            assertTrue(Scrape.metrics(port).contains("\njmx_scrape_error 0.0\n"));
            assertEquals("calls: 1", jvm.ask("calls"));
            jvm.tell("release");
            Jvm.until("the thread of the last one ends", () -> count(jvm, "SlowBean.read") == 0);
            assertEquals(0, jvm.end());
        }
    }

    /** However many configurations and exporters follow each other, two threads of theirs hang, and not more. */
    @Test
    void twoHangAtMost() throws Exception {
        try (Jvm jvm = slow()) {
            for (int i = 0; i < 3; i++) {
                jvm.desire(Desired.running(port, jvm.file("other.yaml", "lowercaseOutputName: true # " + i + "\n")));
                assertEquals(503, Scrape.get(port, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "2").statusCode());
            }
            Path another = Implementations.another(jvm);
            assertEquals("running", jvm.desire(Desired.running(port, jvm.file("other.yaml", "{}\n")).implementation(another)).get("state"));
            HttpResponse<byte[]> response = Scrape.get(port, "/metrics");
            assertEquals(503, response.statusCode());
            assertTrue(new String(response.body()).startsWith("Two collections hang inside MBeans"), new String(response.body()));
            assertEquals(2, jvm.threads("jmx-exporter-collector").size());
            assertEquals("calls: 2", jvm.ask("calls"));

            jvm.tell("release");
            Jvm.until("the application's MBean answers", () -> Scrape.get(port, "/metrics").statusCode() == 200);
            Jvm.until("one thread is left", () -> jvm.threads("jmx-exporter-collector").size() == 1);
            assertEquals("open: true, harmed: 0", jvm.ask("report"));
            assertEquals(0, jvm.end());
        }
    }

    /** Nothing is collected for a client that hung up while another one's answer was being written. */
    @Test
    @Tag("full")
    void clientGone() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), ManyBeans.class.getName())) {
            load(jvm);
            Socket reader = new Socket();
            reader.setReceiveBufferSize(1024);
            reader.connect(new InetSocketAddress("127.0.0.1", port));
            reader.getOutputStream().write("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".getBytes());
            reader.getInputStream().read(); // The answer has begun, and does not fit into the buffers.
            String before = jvm.ask("collections");
            Socket gone = request("");
            Jvm.until("it waits", () -> count(jvm, "ScrapeHandler.handle") == 2);
            gone.close();
            Jvm.until("it waits no longer", () -> count(jvm, "ScrapeHandler.handle") == 1);
            assertEquals(before, jvm.ask("collections"));
            reader.close();
            assertTrue(Scrape.metrics(port).contains("\njmx_scrape_error 0.0\n"));
            assertEquals(0, jvm.end());
        }
    }

    /** A reader that hangs up in the middle of its answer takes nobody else's. */
    @Test
    @Tag("full")
    void readerHangsUp() throws Exception {
        try (Jvm jvm = Jvm.run(Subject.class.getName(), ManyBeans.class.getName())) {
            load(jvm);
            for (int i = 0; i < 8; i++) {
                try (Socket reader = request("")) {
                    reader.getInputStream().readNBytes(1000);
                }
            }
            assertEquals(10_000, topics(Scrape.get(port, "/metrics")));
            assertEquals(0, jvm.end());
            assertEquals(List.of(), jvm.err());
        }
    }

    /** An application one of whose MBeans does not answer, with an agent whose first collection is in there. */
    private Jvm slow() throws Exception {
        Jvm jvm = Jvm.run(Subject.class.getName(), SlowBean.class.getName());
        load(jvm);
        Socket first = request("");
        Jvm.until("a collection is inside", () -> count(jvm, "SlowBean.read") == 1);
        first.close();
        return jvm;
    }

    private void load(Jvm jvm) throws Exception {
        assertEquals("running", jvm.load(Desired.running(port, jvm.file("config.yaml", "{}\n"))).get("state"));
    }

    private Socket request(String headers) throws Exception {
        Socket socket = new Socket("127.0.0.1", port);
        socket.getOutputStream().write(("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + headers + "\r\n").getBytes());
        return socket;
    }

    private static long count(Jvm jvm, String frame) throws Exception {
        return jvm.jcmd("Thread.print").lines().filter(line -> line.contains(frame + "(")).count();
    }
}
