package com.banzaicloud.jmxexporter.exporter;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Predicate;
import java.util.zip.GZIPOutputStream;

/**
 * Answers /metrics and /-/healthy. A scraper gets OpenMetrics if it names it and text otherwise: also one that
 * would rather have protobuf, which this agent does not carry.
 */
final class ScrapeHandler implements HttpHandler {

    private final ExpositionFormatWriter openMetrics = OpenMetricsTextFormatWriter.create();
    private final ExpositionFormatWriter text = PrometheusTextFormatWriter.create();
    private volatile Metrics metrics;
    private volatile String identity;

    ScrapeHandler(Metrics metrics, String identity) {
        show(metrics, identity);
    }

    void show(Metrics metrics, String identity) {
        this.metrics = metrics;
        this.identity = identity;
    }

    @Override
    public void handle(HttpExchange exchange) throws IOException {
        try {
            answer(exchange);
        } catch (IOException e) {
            throw e; // The scraper has gone.
        } catch (Throwable t) { // An error that leaves this thread is printed on the application's output.
            send(exchange, 500, "The scrape failed: " + t + "\n");
        } finally {
            exchange.close();
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        String method = exchange.getRequestMethod();
        if (!method.equals("GET") && !method.equals("HEAD")) {
            exchange.getResponseHeaders().set("Allow", "GET, HEAD");
            send(exchange, 405, "Use GET.\n");
            return;
        }
        switch (exchange.getRequestURI().getPath()) {
            case "/metrics":
                scrape(exchange);
                break;
            case "/-/healthy":
                identify(exchange);
                send(exchange, 200, "Exporter is healthy.\n");
                break;
            default:
                send(exchange, 404, "The metrics are at /metrics.\n");
        }
    }

    /** Says which JVM this is: on a network that pods share, another one's agent may come to serve the port. */
    private void identify(HttpExchange exchange) {
        String identity = this.identity;
        if (identity != null) {
            exchange.getResponseHeaders().set("Jmx-Exporter-Identity", identity);
        }
    }

    private void scrape(HttpExchange exchange) throws IOException {
        String accept = header(exchange, "Accept");
        ExpositionFormatWriter writer = openMetrics.accepts(accept) ? openMetrics : text;
        MetricSnapshots snapshots = metrics.scrape(names(exchange.getRequestURI().getRawQuery()));
        boolean gzip = acceptsGzip(header(exchange, "Accept-Encoding"));

        // Written out before the first byte is sent, so that what fails is answered with an error.
        ByteArrayOutputStream body = new ByteArrayOutputStream(1 << 16);
        try (OutputStream out = gzip ? new GZIPOutputStream(body) : body) {
            writer.write(out, snapshots, EscapingScheme.fromAcceptHeader(accept));
        }
        exchange.getResponseHeaders().set("Content-Type", writer.getContentType());
        if (gzip) {
            exchange.getResponseHeaders().set("Content-Encoding", "gzip");
        }
        send(exchange, 200, body);
    }

    private static void send(HttpExchange exchange, int status, String sentence) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        body.write(sentence.getBytes(StandardCharsets.UTF_8));
        exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
        send(exchange, status, body);
    }

    /** A HEAD request gets no length either: the JDK's server would log a warning about it. */
    private static void send(HttpExchange exchange, int status, ByteArrayOutputStream body) throws IOException {
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        exchange.sendResponseHeaders(status, body.size());
        body.writeTo(exchange.getResponseBody());
    }

    private static String header(HttpExchange exchange, String name) {
        return exchange.getRequestHeaders().containsKey(name) ? String.join(",", exchange.getRequestHeaders().get(name)) : "";
    }

    private static boolean acceptsGzip(String encodings) {
        for (String encoding : encodings.split(",")) {
            if (encoding.trim().matches("(?i)gzip(\\s*;\\s*q=(1(\\.0*)?|0\\.0*[1-9]\\d*))?")) {
                return true;
            }
        }
        return false;
    }

    /** The metrics asked for with {@code name[]=}; all when none is. */
    private static Predicate<String> names(String query) throws IOException {
        Set<String> names = new HashSet<>();
        for (String parameter : query == null ? new String[0] : query.split("&")) {
            String decoded = URLDecoder.decode(parameter, "UTF-8");
            if (decoded.startsWith("name[]=")) {
                names.add(decoded.substring("name[]=".length()));
            }
        }
        return names.isEmpty() ? name -> true : names::contains;
    }
}
