import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/** Answers, for every line of Base64, whether it is an object name. */
public class ObjectNames {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder answers = new StringBuilder();
        for (String line; (line = in.readLine()) != null; ) {
            try {
                new ObjectName(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8));
                answers.append("accepted\n");
            } catch (MalformedObjectNameException e) {
                answers.append(e.getMessage().replaceAll("\\s+", " ")).append("\n");
            }
        }
        System.out.print(answers);
    }
}
