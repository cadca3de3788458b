import java.net.InetSocketAddress;
import java.util.EnumSet;
import javax.servlet.DispatcherType;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;

/** Solr in its web server, with the listener and the filter that the release's web.xml has; without its administration pages. */
public final class Solr {

    private Solr() {}

    public static void main(String[] arguments) throws Exception {
        Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.getInteger("solr.port")));
        ServletContextHandler context = new ServletContextHandler(server, "/solr");
        context.addEventListener(new CoreContainerProvider());
        context.addFilter(SolrDispatchFilter.class, "/*", EnumSet.of(DispatcherType.REQUEST));
        server.start();
        server.join();
    }
}
