package com.banzaicloud.jmxexporter.exporter;

import com.banzaicloud.jmxexporter.collection.Answer;
import com.banzaicloud.jmxexporter.http.Handler;
import com.banzaicloud.jmxexporter.http.Request;
import com.banzaicloud.jmxexporter.http.Response;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;

/**
 * Answers /metrics and /-/healthy, and says so at /. A scraper gets OpenMetrics if it names it and text otherwise: also
 * one that would rather have protobuf, which this agent does not carry.
 */
final class ScrapeHandler implements Handler {

    private static final String OPEN_METRICS = "application/openmetrics-text";
    private static final String CONTENTS = "JMX exporter\n\n/metrics    metrics of this JVM, for Prometheus\n/-/healthy  200 while the exporter answers";

    /** Bytes between the writer and the connection. */
    private static final int BUFFER = 8192;
    /** How long a scraper waits for its answer at most, and if it does not say how long. */
    private static final long SCRAPE_TIMEOUT_SECONDS = 60;

    private final ExpositionFormatWriter openMetrics = OpenMetricsTextFormatWriter.create();
    private final ExpositionFormatWriter text = PrometheusTextFormatWriter.create();
    private final Scrapes scrapes;
    private final Supplier<Map<String, String>> notices;
    private volatile String identity;

    /** A handler that says with each answer of /-/healthy what there is to notice; null for nothing. */
    ScrapeHandler(Scrapes scrapes, Supplier<Map<String, String>> notices) {
        this.scrapes = scrapes;
        this.notices = notices;
    }

    /** Says from now on which JVM this is; null if unknown. */
    void identify(String identity) {
        this.identity = identity;
    }

    @Override
    public void handle(Request request, Response response) throws IOException {
        if (!reads(request, response)) {
            return;
        }
        switch (request.path()) {
            case "/metrics":
            case "/metrics/":
                scrape(request, response);
                break;
            case "/-/healthy":
                health(response, Notices.all(notices.get()));
                break;
            case "/":
                say(response, 200, CONTENTS);
                break;
            default:
                say(response, 404, "The metrics are at /metrics.");
        }
    }

    /** Answers /-/healthy to who may not read the metrics. */
    Handler publicHealth() {
        return new Handler() {
            @Override
            public void handle(Request request, Response response) throws IOException {
                if (reads(request, response)) {
                    health(response, Notices.ofPublic(notices.get()));
                }
            }
        };
    }

    private static boolean reads(Request request, Response response) throws IOException {
        if (isHead(request) || request.method().equals("GET")) {
            return true;
        }
        response.header("Allow", "GET, HEAD");
        say(response, 405, "Use GET.");
        return false;
    }

    private static boolean isHead(Request request) {
        return request.method().equals("HEAD");
    }

    private void health(Response response, String said) throws IOException {
        // On a network that pods share, another JVM's agent may come to serve the port.
        String identity = this.identity;
        if (identity != null) {
            response.header("Jmx-Exporter-Identity", identity);
        }
        if (said != null) {
            response.header(Notices.HEADER, said);
        }
        say(response, 200, "Exporter is healthy.");
    }

    private void scrape(Request request, Response response) throws IOException {
        Set<String> names;
        try {
            names = names(request.query());
        } catch (IllegalArgumentException e) {
            say(response, 400, "The query is not encoded as a URL: " + e.getMessage());
            return;
        }
        String accept = request.header("Accept");
        ExpositionFormatWriter writer = accepts(accept, OPEN_METRICS) ? openMetrics : text;
        if (isHead(request)) { // Nobody reads what would be collected.
            response.header("Content-Type", writer.getContentType());
            response.start(200);
            return;
        }
        Deadline deadline = new Deadline(timeoutNanos(request.header("X-Prometheus-Scrape-Timeout-Seconds")));
        try (Scrapes.Collection collection = scrapes.ask(response, deadline)) {
            if (collection != null) {
                write(response, writer, accept, accepts(request.header("Accept-Encoding"), "gzip"), names, collection.answer());
            }
        } catch (Unavailable e) {
            say(response, e.status(), e.getMessage());
        }
    }

    /** Writes the answer as it is made. What is thrown once it has begun cuts it off: the scraper sees that it is not whole. */
    static void write(Response response, ExpositionFormatWriter writer, String accept, boolean gzip, Set<String> names, Answer answer) throws IOException {
        Body body = new Body(response, writer.getContentType(), gzip);
        OutputStream out = new BufferedOutputStream(body, BUFFER);
        Gzip compressed = gzip ? new Gzip(out) : null;
        try {
            OutputStream target = gzip ? compressed : out;
            answer.write(writer, target, EscapingScheme.fromAcceptHeader(accept), names);
            target.close();
        } catch (RuntimeException e) { // Two metrics share a name, say.
            if (body.hasBegun()) {
                throw e;
            }
            say(response, 500, "The scrape failed: " + e);
        } finally {
            if (gzip) {
                compressed.end();
            }
        }
    }

    /** Gives back the native memory of its compressor, some 260 KiB, which closing does not do for a client that is gone. */
    private static final class Gzip extends GZIPOutputStream {

        Gzip(OutputStream out) throws IOException {
            super(out, BUFFER);
        }

        void end() {
            def.end();
        }
    }

    /** A body with which the answer begins when its first bytes are sent: until then it may become another one. */
    private static final class Body extends OutputStream {

        private final Response response;
        private final String contentType;
        private final boolean gzip;
        private OutputStream out;

        Body(Response response, String contentType, boolean gzip) {
            this.response = response;
            this.contentType = contentType;
            this.gzip = gzip;
        }

        boolean hasBegun() {
            return out != null;
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            begin();
            out.write(bytes, offset, length);
        }

        private void begin() throws IOException {
            if (out == null) {
                response.header("Content-Type", contentType);
                if (gzip) {
                    response.header("Content-Encoding", "gzip");
                }
                out = response.start(200);
            }
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        /** An empty answer begins as well. */
        @Override
        public void close() throws IOException {
            begin();
        }
    }

    private static void say(Response response, int status, String sentence) throws IOException {
        response.header("Content-Type", "text/plain; charset=utf-8");
        response.send(status, (sentence + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** How long the scraper waits. Prometheus says it, in seconds; what is not a time is as if it were not there. */
    static long timeoutNanos(String said) {
        double seconds;
        try {
            seconds = Double.parseDouble(said);
        } catch (NumberFormatException e) {
            seconds = SCRAPE_TIMEOUT_SECONDS;
        }
        boolean shorter = seconds > 0 && seconds < SCRAPE_TIMEOUT_SECONDS; // Not so for NaN.
        return (long) ((shorter ? seconds : SCRAPE_TIMEOUT_SECONDS) * TimeUnit.SECONDS.toNanos(1));
    }

    /** Reports whether one of the elements of a header is this, with a weight above 0. */
    private static boolean accepts(String header, String wanted) {
        for (String element : header.split(",")) {
            String[] words = element.split(";");
            if (words[0].trim().equalsIgnoreCase(wanted) && weight(words) > 0) {
                return true;
            }
        }
        return false;
    }

    /** The weight among the parameters of an element: 1 where there is none, 0 for one that is none. */
    private static double weight(String[] words) {
        for (int i = 1; i < words.length; i++) {
            String word = words[i].trim();
            if (word.regionMatches(true, 0, "q=", 0, 2)) {
                try {
                    return Double.parseDouble(word.substring(2));
                } catch (NumberFormatException e) {
                    return 0;
                }
            }
        }
        return 1;
    }

    /**
     * The metrics asked for with {@code name[]=}; null for all. The answer is chosen from and not the collection, which others
     * may share, and which costs about the same.
     */
    private static Set<String> names(String query) throws IOException {
        Set<String> names = new HashSet<>();
        for (String parameter : query == null ? new String[0] : query.split("&")) {
            String decoded = URLDecoder.decode(parameter, "UTF-8");
            if (decoded.startsWith("name[]=")) {
                names.add(decoded.substring("name[]=".length()));
            }
        }
        return names.isEmpty() ? null : names;
    }
}
