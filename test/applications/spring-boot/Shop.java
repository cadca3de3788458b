import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A service with a database and what the rules are about switched on. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@RestController
public class Shop {

    private final JdbcTemplate database;

    Shop(JdbcTemplate database) {
        this.database = database;
    }

    @GetMapping("/orders")
    Integer orders() {
        return database.queryForObject("SELECT 1", Integer.class);
    }

    public static void main(String[] arguments) {
        SpringApplication application = new SpringApplication(Shop.class);
        application.setDefaultProperties(Map.of(
                "server.address", "127.0.0.1",
                "server.tomcat.mbeanregistry.enabled", "true",
                "spring.jmx.enabled", "true",
                "spring.datasource.url", "jdbc:h2:mem:shop",
                "spring.datasource.hikari.pool-name", "shop",
                "spring.datasource.hikari.register-mbeans", "true"));
        application.run(arguments);
    }
}
