package com.banzaicloud.jmxexporter.tests;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Asks an exporter over HTTP. */
final class Scrape {

    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private Scrape() {}

    /** The metrics in text. */
    static String metrics(int port) throws Exception {
        return metrics(port, "/metrics");
    }

    /** Some of the metrics in text. */
    static String metrics(int port, String path) throws Exception {
        HttpResponse<byte[]> response = get(port, path);
        if (response.statusCode() != 200) {
            throw new IOException(response.statusCode() + ": " + new String(response.body()));
        }
        return new String(response.body());
    }

    /** Headers are names and values in turn. */
    static HttpResponse<byte[]> get(int port, String path, String... headers) throws Exception {
        return request("GET", port, path, headers);
    }

    static HttpResponse<byte[]> request(String method, int port, String path, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .timeout(Duration.ofSeconds(60));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    /** Reports whether nobody listens on the port. */
    static boolean refused(int port) throws Exception {
        try {
            get(port, "/-/healthy");
            return false;
        } catch (ConnectException e) {
            return true;
        }
    }
}
