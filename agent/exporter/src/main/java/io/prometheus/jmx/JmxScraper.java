package io.prometheus.jmx;

import com.banzaicloud.jmxexporter.collection.Gathering;
import com.banzaicloud.jmxexporter.collection.Reason;
import com.banzaicloud.jmxexporter.rules.Rules;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectInstance;
import javax.management.ObjectName;

/**
 * Takes the place of the collector's own class, in which the first MBean or sample that throws ends the collection: here
 * it costs itself. Otherwise it reads the same, and only in this JVM, so the libraries for remote ones are not needed.
 */
final class JmxScraper {

    private static final Set<String> JVM_DOMAINS = new HashSet<>(Arrays.asList("com.sun.management", "com.sun.management.jmxremote", "java.lang",
            "java.nio", "java.util.logging", "javax.management", "javax.management.remote", "jdk.internal", "jdk.management",
            "jdk.management.jfr", "sun.management"));

    private final List<ObjectName> includes;
    private final List<ObjectName> excludes;
    private final boolean excludesJvm;
    private final ObjectNameAttributeFilter filter;
    private final List<JmxCollector.MetricCustomizer> customizers;
    private final JmxCollector.Receiver receiver;
    private final Gathering gathering = Gathering.current();

    /** Makes samples of values by the rules. */
    interface MBeanReceiver {

        /** Makes a sample of one value. */
        void recordBean(String domain, LinkedHashMap<String, String> beanProperties, Map<String, String> labels, List<String> attributeKeys,
                String attributeName, String attributeType, String attributeDescription, Object value);
    }

    /** For the collector. What concerns another JVM, and what would keep something of each MBean, is not used. */
    JmxScraper(String jmxUrl, String username, String password, JmxCollector.SslProperties ssl, List<ObjectName> includes,
            List<ObjectName> excludes, boolean excludesJvm, ObjectNameAttributeFilter filter,
            List<JmxCollector.MetricCustomizer> customizers, MBeanReceiver receiver, JmxMBeanPropertyCache properties) {
        this.includes = includes;
        this.excludes = excludes;
        this.excludesJvm = excludesJvm;
        this.filter = filter;
        this.customizers = customizers;
        this.receiver = (JmxCollector.Receiver) receiver; // The collector has no other.
    }

    /** Reads all MBeans that the configuration asks for. */
    void doScrape() {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        Set<ObjectName> names;
        try {
            names = names(server);
        } catch (Throwable t) { // The application's own server, or its security manager.
            gathering.skip("*", Reason.MBEAN_UNREADABLE, t);
            return;
        }
        filter.onlyKeepMBeans(names);
        for (ObjectName name : names) {
            int before = gathering.samples().size();
            try {
                scrape(server, name);
            } catch (InstanceNotFoundException e) {
                // The application has unregistered it meanwhile.
            } catch (Throwable t) {
                gathering.skip(name.getDomain(), Reason.MBEAN_UNREADABLE, t);
            }
            gathering.read();
            if (gathering.yields() != null) {
                gathering.yields().count(name.getDomain(), KeyProperties.of(name).get("type"), gathering.samples().size() > before);
            }
        }
    }

    /**
     * The MBeans of the JVM are excluded with its metrics, unless an include names them. By queryMBeans, as the collector:
     * some application servers register an MBean once its instance is asked for.
     */
    private Set<ObjectName> names(MBeanServer server) {
        Set<ObjectName> names = new HashSet<>();
        for (ObjectName include : includes) { // Null stands for all.
            for (ObjectInstance instance : server.queryMBeans(include, null)) {
                ObjectName name = instance.getObjectName();
                if (include != null || !excludesJvm || !JVM_DOMAINS.contains(name.getDomain())) {
                    names.add(name);
                }
            }
        }
        for (ObjectName exclude : excludes) {
            for (ObjectInstance instance : server.queryMBeans(exclude, null)) {
                names.remove(instance.getObjectName());
            }
        }
        return names;
    }

    private void scrape(MBeanServer server, ObjectName name) throws JMException {
        Rules.checkpoint();
        MBeanInfo info = server.getMBeanInfo(name);
        Map<String, MBeanAttributeInfo> wanted = wanted(name, info);
        if (wanted.isEmpty()) {
            return;
        }
        AttributeList attributes = read(server, name, wanted.keySet());
        JmxCollector.MetricCustomizer customizer = customizer(name);
        MBeanValues values = new MBeanValues(name, KeyProperties.of(name), labels(customizer, attributes), receiver, filter, gathering);
        if (customizer != null && customizer.extraMetrics != null) {
            for (JmxCollector.ExtraMetric extra : customizer.extraMetrics) {
                values.add(extra.name, "UNKNOWN", extra.description, extra.value);
            }
        }
        for (Object element : attributes) {
            Rules.checkpoint();
            Attribute attribute = element instanceof Attribute ? (Attribute) element : null; // Nothing checks what an MBean puts in.
            MBeanAttributeInfo declared = attribute == null ? null : wanted.get(attribute.getName());
            if (declared != null) {
                values.add(attribute.getName(), declared.getType(), declared.getDescription(), attribute.getValue());
            } else if (attribute == null || !declares(info, attribute.getName())) {
                gathering.skip(name.getDomain(), Reason.UNDECLARED_ATTRIBUTE);
            }
        }
    }

    private Map<String, MBeanAttributeInfo> wanted(ObjectName name, MBeanInfo info) {
        Map<String, MBeanAttributeInfo> wanted = new LinkedHashMap<>();
        for (MBeanAttributeInfo attribute : info.getAttributes()) {
            if (attribute.isReadable() && !filter.exclude(name, attribute.getName())
                    && (filter.includeObjectNameAttributesIsEmpty() || filter.include(name, attribute.getName()))) {
                wanted.put(attribute.getName(), attribute);
            }
        }
        return wanted;
    }

    private static boolean declares(MBeanInfo info, String attribute) {
        for (MBeanAttributeInfo declared : info.getAttributes()) {
            if (declared.getName().equals(attribute)) {
                return true;
            }
        }
        return false;
    }

    /** An attribute whose getter throws is left out by the server; an MBean that answers for itself is asked one by one then. */
    private static AttributeList read(MBeanServer server, ObjectName name, Set<String> wanted) throws JMException {
        RuntimeException failure;
        try {
            AttributeList all = server.getAttributes(name, wanted.toArray(new String[0]));
            if (all != null) {
                return all;
            }
            failure = new IllegalStateException("no attributes");
        } catch (RuntimeException e) {
            Gathering.rethrowFatal(e); // Out of memory, say: each attribute would be out of it again.
            failure = e;
        }
        AttributeList some = new AttributeList();
        for (String attribute : wanted) {
            try {
                some.add(new Attribute(attribute, server.getAttribute(name, attribute)));
            } catch (InstanceNotFoundException e) {
                throw e;
            } catch (JMException | RuntimeException e) {
                Gathering.rethrowFatal(e); // Otherwise, this one cannot be read; others may.
            }
        }
        if (some.isEmpty()) {
            throw failure;
        }
        return some;
    }

    private JmxCollector.MetricCustomizer customizer(ObjectName name) {
        for (JmxCollector.MetricCustomizer customizer : customizers) {
            if (customizer.mbeanFilter.domain.equals(name.getDomain())
                    && name.getKeyPropertyList().entrySet().containsAll(customizer.mbeanFilter.properties.entrySet())) {
                return customizer;
            }
        }
        return null;
    }

    private static Map<String, String> labels(JmxCollector.MetricCustomizer customizer, AttributeList attributes) {
        if (customizer == null || customizer.attributesAsLabels == null) {
            return Collections.emptyMap();
        }
        Map<String, String> labels = new HashMap<>();
        for (Object element : attributes) {
            Attribute attribute = element instanceof Attribute ? (Attribute) element : null;
            if (attribute != null && attribute.getValue() != null && customizer.attributesAsLabels.contains(attribute.getName())) {
                labels.put(attribute.getName(), String.valueOf(attribute.getValue().toString())); // It may return null.
            }
        }
        return labels;
    }
}
