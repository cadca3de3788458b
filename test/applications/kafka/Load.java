import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends messages to a topic and reads them as a consumer group, until it is killed. */
public final class Load {

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> server = Map.of("bootstrap.servers", arguments[0]);
        try (Admin admin = Admin.create(server)) {
            admin.createTopics(List.of(new NewTopic("orders", 2, (short) 1))).all().get();
        }
        Map<String, Object> group = Map.of("bootstrap.servers", arguments[0], "group.id", "billing", "auto.offset.reset", "earliest", "auto.commit.interval.ms", 100);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(server, new StringSerializer(), new StringSerializer());
                KafkaConsumer<String, String> consumer = new KafkaConsumer<>(group, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("orders"));
            for (int i = 0;; i++) {
                producer.send(new ProducerRecord<>("orders", "customer-" + i, "order " + i)).get();
                consumer.poll(Duration.ofMillis(100));
            }
        }
    }
}
