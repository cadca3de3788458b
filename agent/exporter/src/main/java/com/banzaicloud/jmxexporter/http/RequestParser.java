package com.banzaicloud.jmxexporter.http;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes a request of the head of a message: request line and header fields, as RFC 9112 has them. Where the RFC
 * leaves a choice between repairing and refusing, it refuses.
 */
final class RequestParser {

    private static final String HEX = "0123456789abcdefABCDEF";

    private final String head;
    private int at;

    private RequestParser(String head) {
        this.head = head;
    }

    /** Parses a head that ends with an empty line, one character for each byte. */
    static Request parse(String head) throws BadRequest {
        return new RequestParser(head).request();
    }

    private Request request() throws BadRequest {
        String line = line();
        int target = line.indexOf(' ') + 1;
        int version = line.lastIndexOf(' ') + 1;
        if (target < 2 || version == target || !isToken(line.substring(0, target - 1))) {
            throw bad("The request line is not a method, a target and a version with a space between them.");
        }
        boolean http11 = isHttp11(line.substring(version));
        String method = line.substring(0, target - 1);
        String resource = resource(method, line.substring(target, version - 1));
        int question = resource.indexOf('?');
        String path = decode(question < 0 ? resource : resource.substring(0, question));
        String query = question < 0 ? null : resource.substring(question + 1);
        return checked(new Request(method, path, query, fields(), http11));
    }

    private static boolean isHttp11(String version) throws BadRequest {
        if (version.length() != 8 || !version.startsWith("HTTP/") || !isDigit(version.charAt(5)) || version.charAt(6) != '.'
                || !isDigit(version.charAt(7))) {
            throw bad("The request line does not end with a version such as HTTP/1.1.");
        }
        if (version.charAt(5) != '1') {
            throw new BadRequest(505, "Only HTTP/1.0 and HTTP/1.1 are spoken here.");
        }
        return version.charAt(7) != '0';
    }

    /** Path and query of a target in one of its forms (section 3.2); that of CONNECT has neither. */
    private static String resource(String method, String target) throws BadRequest {
        if (target.equals("*") && method.equals("OPTIONS")) {
            return target;
        }
        int from = 0;
        if (target.regionMatches(true, 0, "http://", 0, 7)) {
            from = 7;
        } else if (target.regionMatches(true, 0, "https://", 0, 8)) {
            from = 8;
        }
        int path = from;
        while (path < target.length() && (from > 0 && target.charAt(path) != '/' && target.charAt(path) != '?')) {
            path++;
        }
        String resource = target.substring(path);
        if (from > 0 && path > from && !resource.startsWith("/")) {
            resource = "/" + resource;
        }
        if (!resource.startsWith("/") || (from > 0 && path == from)) {
            throw bad("The request target does not begin with a slash.");
        }
        for (int i = 0; i < resource.length(); i++) {
            char c = resource.charAt(i);
            if (c <= ' ' || c > '~' || c == '#') {
                throw bad("The request target has a character that must be percent-encoded.");
            }
            if (c == '%' && (i + 2 >= resource.length() || HEX.indexOf(resource.charAt(i + 1)) < 0 || HEX.indexOf(resource.charAt(i + 2)) < 0)) {
                throw bad("The request target has a percent sign without two hexadecimal digits.");
            }
        }
        return resource;
    }

    /** Bytes that are no UTF-8 become replacement characters, which no path here has. */
    private static String decode(String path) {
        if (path.indexOf('%') < 0) {
            return path;
        }
        byte[] bytes = new byte[path.length()];
        int length = 0;
        for (int i = 0; i < path.length(); i++) {
            if (path.charAt(i) == '%') {
                bytes[length++] = (byte) (Character.digit(path.charAt(i + 1), 16) << 4 | Character.digit(path.charAt(i + 2), 16));
                i += 2;
            } else {
                bytes[length++] = (byte) path.charAt(i);
            }
        }
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }

    /** Field lines up to the empty one; a continued line (obs-fold) has no name before a colon, and is refused. */
    private List<String> fields() throws BadRequest {
        List<String> fields = new ArrayList<>();
        for (String line = line(); !line.isEmpty(); line = line()) {
            int colon = line.indexOf(':');
            if (colon < 0 || !isToken(line.substring(0, colon))) {
                throw bad("A header field is not a name, a colon and a value.");
            }
            fields.add(line.substring(0, colon));
            fields.add(line.substring(colon + 1).trim());
        }
        return fields;
    }

    private static Request checked(Request request) throws BadRequest {
        int hosts = request.count("Host");
        if (hosts > 1 || (hosts == 0 && request.isHttp11())) {
            throw bad("An HTTP/1.1 request has one Host field, and no request has several.");
        }
        String length = request.header("Content-Length");
        for (int i = 0; i < length.length(); i++) {
            if (!isDigit(length.charAt(i))) {
                throw bad("The Content-Length is not one number.");
            }
        }
        if (request.count("Content-Length") > 0 && (length.isEmpty() || request.count("Transfer-Encoding") > 0)) {
            throw bad("The length of the body is given twice, or empty.");
        }
        return request;
    }

    /** The next line without its end, which may be a line feed alone (section 2.2); control characters are refused. */
    private String line() throws BadRequest {
        int end = head.indexOf('\n', at);
        int to = end > at && head.charAt(end - 1) == '\r' ? end - 1 : end;
        String line = head.substring(at, to);
        at = end + 1;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c < ' ' && c != '\t' || c == 127) {
                throw bad("The request has control characters in it.");
            }
        }
        return line;
    }

    private static boolean isToken(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c <= ' ' || c > '~' || "\"(),/:;<=>?@[\\]{}".indexOf(c) >= 0) {
                return false;
            }
        }
        return !name.isEmpty();
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static BadRequest bad(String sentence) {
        return new BadRequest(400, sentence);
    }
}
