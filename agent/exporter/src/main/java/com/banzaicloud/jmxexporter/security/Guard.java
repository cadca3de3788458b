package com.banzaicloud.jmxexporter.security;

import com.banzaicloud.jmxexporter.http.Handler;
import com.banzaicloud.jmxexporter.http.Request;
import com.banzaicloud.jmxexporter.http.Response;
import com.banzaicloud.jmxexporter.http.Transport;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import javax.net.ssl.SSLSocket;

/**
 * Secures an endpoint by the file that counts now, which may change under open connections: a handshake that began is
 * finished with what it began with; each request is judged by what counts when it arrives. Health needs no
 * credentials, since who asks for it has none: where the metrics need some, it says nothing that the application named.
 */
public final class Guard implements Transport, Handler {

    private final Handler handler;
    private final Handler publicHealth;
    /** Of the endpoint, not of a file: who guesses, and who was right, stays known when the file is replaced. */
    private final Turns turns = new Turns();
    /** Null: HTTP in the clear, for everybody. */
    private volatile SecurityFile security;

    public Guard(Handler handler, Handler publicHealth) {
        this.handler = handler;
        this.publicHealth = publicHealth;
    }

    /** Secures by this file from now on; null by none. */
    public void secure(SecurityFile security) {
        this.security = security;
    }

    /** Returns the file that counts; null if none does. */
    public SecurityFile security() {
        return security;
    }

    @Override
    public Socket open(Socket accepted) throws IOException {
        SecurityFile security = this.security;
        return security == null ? accepted : security.tls().open(accepted);
    }

    @Override
    public void handle(Request request, Response response) throws IOException {
        SecurityFile security = this.security;
        if (security == null) {
            handler.handle(request, response);
            return;
        }
        if (!(response.socket() instanceof SSLSocket)) { // It was kept alive from before.
            response.endConnection();
            say(response, 403, "Use HTTPS.");
            return;
        }
        if (request.path().equals("/-/healthy")) { // No password is judged here: each takes CPU of the application.
            boolean admitted = security.password() == null && security.tls().admits((SSLSocket) response.socket());
            (admitted ? handler : publicHealth).handle(request, response);
            return;
        }
        if (!security.tls().admits((SSLSocket) response.socket())) {
            response.endConnection();
            say(response, 403, "A client certificate is required.");
            return;
        }
        switch (verdict(security.password(), request, response)) {
            case RIGHT:
                handler.handle(request, response);
                break;
            case LATER:
                response.header("Retry-After", "5");
                say(response, 503, "Too many wrong passwords were tried; try again later.");
                break;
            default:
                response.header("WWW-Authenticate", "Basic realm=\"metrics\", charset=\"UTF-8\"");
                say(response, 401, "The username or password is missing or wrong.");
        }
    }

    private Password.Verdict verdict(Password password, Request request, Response response) throws IOException {
        try {
            return password == null ? Password.Verdict.RIGHT
                    : password.judge(request.header("Authorization"), response.socket().getInetAddress(), turns);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    private static void say(Response response, int status, String sentence) throws IOException {
        response.header("Content-Type", "text/plain; charset=utf-8");
        response.send(status, (sentence + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
