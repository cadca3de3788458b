import io.prometheus.jmx.JmxCollector;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/** Answers, for every line of Base64, whether the collector accepts it as a configuration. */
public class Collector {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null; ) {
            String content = new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8);
            try {
                new JmxCollector(content);
                System.out.println("accepted");
            } catch (Throwable e) {
                System.out.println(String.valueOf(e).replaceAll("\\s+", " "));
            }
        }
    }
}
