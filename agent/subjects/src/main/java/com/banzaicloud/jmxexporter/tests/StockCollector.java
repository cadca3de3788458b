package com.banzaicloud.jmxexporter.tests;

import com.sun.net.httpserver.HttpServer;
import io.prometheus.jmx.BuildInfoMetrics;
import io.prometheus.jmx.JmxCollector;
import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.File;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The collector and the libraries that the agent is made of, as they are published: what a stock exporter of their version
 * would serve. The system property stock.port says where, stock.config by which rules.
 */
public final class StockCollector {

    private StockCollector() {}

    /** Loaded by the subject. */
    public static void register() throws Exception {
        PrometheusRegistry registry = new PrometheusRegistry();
        new JmxCollector(new File(System.getProperty("stock.config")), JmxCollector.Mode.AGENT).register(registry);
        new BuildInfoMetrics().register(registry);
        JvmMetrics.builder().register(registry);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.getInteger("stock.port")), 0);
        ExpositionFormatWriter openMetrics = OpenMetricsTextFormatWriter.create();
        ExpositionFormatWriter text = PrometheusTextFormatWriter.create();
        server.createContext("/metrics", exchange -> {
            String accept = exchange.getRequestHeaders().getFirst("Accept");
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream out = exchange.getResponseBody()) {
                (openMetrics.accepts(accept) ? openMetrics : text).write(out, registry.scrape(), EscapingScheme.fromAcceptHeader(accept));
            }
        });
        server.start();
    }
}
