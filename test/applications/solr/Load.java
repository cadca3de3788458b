import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;

/** Writes documents and searches them, now and then in vain, until it is killed. */
public final class Load {

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0;; i++) {
            String product = "{\"id\": \"" + i % 100 + "\", \"name\": \"product\"}";
            client.send(request(arguments[0], "update?commit=true")
                    .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString("[" + product + "]")).build(), BodyHandlers.discarding());
            client.send(request(arguments[0], "select?q=*:*&fq=name:product").build(), BodyHandlers.discarding());
            client.send(request(arguments[0], "select?q=nothing:1").build(), BodyHandlers.discarding());
            Thread.sleep(50);
        }
    }

    private static HttpRequest.Builder request(String server, String path) {
        return HttpRequest.newBuilder(URI.create("http://" + server + "/solr/products/" + path));
    }
}
