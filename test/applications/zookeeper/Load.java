import java.nio.charset.StandardCharsets;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Writes a node and watches it, until it is killed. */
public final class Load {

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        try (ZooKeeper client = new ZooKeeper(arguments[0], 30_000, event -> {})) {
            client.create("/orders", new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            for (int i = 0;; i++) {
                client.setData("/orders", String.valueOf(i).getBytes(StandardCharsets.UTF_8), -1);
                client.exists("/orders", true);
                Thread.sleep(50);
            }
        }
    }
}
