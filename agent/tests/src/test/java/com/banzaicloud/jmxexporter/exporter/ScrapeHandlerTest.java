package com.banzaicloud.jmxexporter.exporter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.banzaicloud.jmxexporter.collection.Answer;
import com.banzaicloud.jmxexporter.http.HttpServer;
import com.banzaicloud.jmxexporter.http.Transport;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.config.EscapingScheme;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import com.banzaicloud.jmxexporter.shaded.io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a scraper says about its time, and what is left behind when it hangs up. */
class ScrapeHandlerTest {

    @ParameterizedTest
    @CsvSource({"0.5,500", "10,10000", "59.9,59900", "60,60000", "61,60000", "1e999,60000", "'',60000", "NaN,60000", "-NaN,60000", "-1,60000",
        "-Infinity,60000", "0,60000", "-0.0,60000", "ten,60000", "'1,2',60000"})
    void timeoutsThatMakeNoSenseAreIgnored(String said, long millis) {
        assertEquals(TimeUnit.MILLISECONDS.toNanos(millis), ScrapeHandler.timeoutNanos(said));
    }

    /** A compressor that is not ended keeps 260 KiB outside the heap until a garbage collection, which may be hours away. */
    @Test
    void compressorIsEndedWhenTheAnswerFails() throws Exception {
        FailingWriter writer = new FailingWriter();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (HttpServer server = HttpServer.open(any, Transport.PLAIN, (request, response) -> ScrapeHandler.write(response, writer, "", true, null, new Answer(new ArrayList<>())));
                Socket client = new Socket()) {
            client.connect(server.address());
            client.getOutputStream().write("GET /metrics HTTP/1.0\r\n\r\n".getBytes());
            client.getInputStream().readAllBytes();
        }
        assertThrows(RuntimeException.class, () -> writer.out.write(1), "it still compresses");
    }

    /** Fails in the middle of an answer, as a connection does whose client is gone. */
    private static final class FailingWriter implements ExpositionFormatWriter {

        private OutputStream out;

        @Override
        public boolean accepts(String accept) {
            return true;
        }

        @Override
        public void write(OutputStream out, MetricSnapshots snapshots, EscapingScheme scheme) throws IOException {
            this.out = out;
            out.write("# half".getBytes());
            throw new IOException("in a test");
        }

        @Override
        public String getContentType() {
            return "text/plain";
        }
    }
}
