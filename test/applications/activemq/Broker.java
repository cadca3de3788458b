import jakarta.jms.Connection;
import jakarta.jms.Destination;
import jakarta.jms.MessageConsumer;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;
import org.apache.activemq.ActiveMQConnectionFactory;
import org.apache.activemq.broker.BrokerService;

/** A broker, with a client that sends messages to a queue and a topic, and receives them, until it is killed. */
public final class Broker {

    private Broker() {}

    public static void main(String[] arguments) throws Exception {
        BrokerService broker = new BrokerService();
        broker.setBrokerName("shop");
        broker.setPersistent(false);
        broker.setUseJmx(true);
        broker.getManagementContext().setCreateConnector(false);
        broker.addConnector("tcp://127.0.0.1:0");
        broker.start();
        try (Connection connection = new ActiveMQConnectionFactory(broker.getTransportConnectors().get(0).getConnectUri()).createConnection();
                Session session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            connection.start();
            Destination[] destinations = {session.createQueue("orders"), session.createTopic("prices")};
            MessageProducer producer = session.createProducer(null);
            MessageProducer ofOrders = session.createProducer(destinations[0]);
            MessageConsumer orders = session.createConsumer(destinations[0]);
            MessageConsumer prices = session.createConsumer(destinations[1]);
            for (int i = 0;; i++) {
                ofOrders.send(session.createTextMessage("order " + i));
                producer.send(destinations[1], session.createTextMessage("price " + i));
                orders.receive(1000);
                prices.receive(1000);
                Thread.sleep(50);
            }
        }
    }
}
