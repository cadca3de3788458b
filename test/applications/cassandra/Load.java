import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;

/** Writes rows of a table and reads them, until it is killed. */
public final class Load {

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        try (Cluster cluster = Cluster.builder().addContactPoint("127.0.0.1").withPort(Integer.parseInt(arguments[0])).withoutJMXReporting().build();
                Session session = cluster.connect()) {
            session.execute("CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
            session.execute("CREATE TABLE IF NOT EXISTS shop.orders (id int PRIMARY KEY, customer text)");
            PreparedStatement write = session.prepare("INSERT INTO shop.orders (id, customer) VALUES (?, ?)");
            PreparedStatement read = session.prepare("SELECT * FROM shop.orders WHERE id = ?");
            for (int i = 0;; i = (i + 1) % 1000) {
                session.execute(write.bind(i, "customer " + i));
                session.execute(read.bind(i));
                Thread.sleep(20);
            }
        }
    }
}
