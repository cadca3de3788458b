package com.banzaicloud.jmxexporter.http;

import java.util.List;

/** A request as it arrived, without its body: no handler here has use for one. */
public final class Request {

    private final String method;
    private final String path;
    private final String query;
    /** Names and values in turn. */
    private final List<String> fields;
    private final boolean http11;

    Request(String method, String path, String query, List<String> fields, boolean http11) {
        this.method = method;
        this.path = path;
        this.query = query;
        this.fields = fields;
        this.http11 = http11;
    }

    /** Returns the method, case as sent. */
    public String method() {
        return method;
    }

    /** Returns the path, percent-decoded. */
    public String path() {
        return path;
    }

    /** Returns the query as sent, with percent-escapes that are known to be well formed; null if there is none. */
    public String query() {
        return query;
    }

    /** Returns the values of a header field, joined by commas in their order; "" if it was not sent. */
    public String header(String name) {
        String joined = null;
        for (int i = 0; i < fields.size(); i += 2) {
            if (fields.get(i).equalsIgnoreCase(name)) {
                joined = joined == null ? fields.get(i + 1) : joined + "," + fields.get(i + 1);
            }
        }
        return joined == null ? "" : joined;
    }

    int count(String name) {
        int count = 0;
        for (int i = 0; i < fields.size(); i += 2) {
            if (fields.get(i).equalsIgnoreCase(name)) {
                count++;
            }
        }
        return count;
    }

    /** Reports whether it is of HTTP/1.1 or a later 1.x, rather than of 1.0. */
    boolean isHttp11() {
        return http11;
    }

    boolean isHead() {
        return method.equals("HEAD");
    }

    /** Reports whether bytes follow that belong to it: they are not read, so nothing after them can be. */
    boolean hasBody() {
        String length = header("Content-Length");
        for (int i = 0; i < length.length(); i++) {
            if (length.charAt(i) != '0') {
                return true;
            }
        }
        return count("Transfer-Encoding") > 0;
    }

    /** Reports whether the client would send another request on the connection (RFC 9112, section 9.3). */
    boolean keepsAlive() {
        return !hasBody() && !names("close") && (http11 || names("keep-alive"));
    }

    /** Reports whether the Connection field has this option. */
    private boolean names(String option) {
        String options = header("Connection");
        int from = 0;
        while (from <= options.length()) {
            int comma = options.indexOf(',', from);
            int to = comma < 0 ? options.length() : comma;
            if (options.substring(from, to).trim().equalsIgnoreCase(option)) {
                return true;
            }
            from = to + 1;
        }
        return false;
    }
}
