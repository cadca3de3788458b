package com.banzaicloud.jmxexporter.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the classes of a jar refer to is there: every class, method and field. The build leaves classes out and
 * replaces others by smaller ones, and what is missing there would only be noticed in an application, on the one
 * path that needs it.
 */
class LinkageTest {

    /** The library checks for it, and does without. */
    private static final String OPTIONAL = "io.opentelemetry.";

    @ParameterizedTest
    @ValueSource(strings = {"agent.jar", "exporter.jar"})
    void everythingReferredToIsThere(String name) throws Exception {
        Path jar = Jvm.EXPORTER.resolveSibling(name);
        Set<String> missing = new TreeSet<>();
        try (JarFile file = new JarFile(jar.toFile());
                URLClassLoader loader = new URLClassLoader(new URL[] {jar.toUri().toURL()}, ClassLoader.getPlatformClassLoader())) {
            for (JarEntry entry : file.stream().filter(e -> e.getName().endsWith(".class")).toList()) {
                try (InputStream in = file.getInputStream(entry)) {
                    new ConstantPool(in).references().filter(reference -> !reference.owner.startsWith(OPTIONAL))
                            .filter(reference -> !reference.resolves(loader))
                            .forEach(reference -> missing.add(entry.getName() + " refers to " + reference));
                }
            }
        }
        assertEquals("", String.join("\n", missing));
    }

    /** A class that another one names, or a member of it. */
    private record Reference(String owner, String member, String descriptor) {

        boolean resolves(ClassLoader loader) {
            try {
                Class<?> type = Class.forName(owner, false, loader);
                if (member == null || type.isArray()) {
                    return true;
                }
                return descriptor.startsWith("(") ? hasMethod(type, MethodType.fromMethodDescriptorString(descriptor, loader)) : hasField(type);
            } catch (ClassNotFoundException | LinkageError | TypeNotPresentException e) {
                return false;
            }
        }

        private boolean hasMethod(Class<?> type, MethodType wanted) {
            if (member.equals("<init>")) {
                return Arrays.stream(type.getDeclaredConstructors()).map(Constructor::getParameterTypes)
                        .anyMatch(parameters -> Arrays.equals(parameters, wanted.parameterArray()));
            }
            return supertypes(type).flatMap(t -> Arrays.stream(t.getDeclaredMethods())).anyMatch(method -> is(method, wanted));
        }

        private boolean is(Method method, MethodType wanted) {
            // MethodHandle.invoke and its like take whatever they are given.
            boolean polymorphic = method.isVarArgs() && method.getDeclaringClass().getPackageName().equals("java.lang.invoke");
            return method.getName().equals(member)
                    && (polymorphic || method.getReturnType() == wanted.returnType() && Arrays.equals(method.getParameterTypes(), wanted.parameterArray()));
        }

        private boolean hasField(Class<?> type) {
            return supertypes(type).flatMap(t -> Arrays.stream(t.getDeclaredFields())).map(Field::getName).anyMatch(member::equals);
        }

        private static Stream<Class<?>> supertypes(Class<?> type) {
            if (type == null) {
                return Stream.empty();
            }
            Stream<Class<?>> above = Stream.concat(Stream.of(type.isInterface() ? Object.class : type.getSuperclass()).filter(t -> t != null), Arrays.stream(type.getInterfaces()));
            return Stream.concat(Stream.of(type), above.flatMap(Reference::supertypes));
        }

        @Override
        public String toString() {
            return owner + (member == null ? "" : "." + member + descriptor);
        }
    }

    /** The part of a class file that names what it refers to: Java Virtual Machine Specification, 4.4. */
    private static final class ConstantPool {
        private final Object[] values;
        private final int[] tags;

        ConstantPool(InputStream in) throws IOException {
            DataInputStream data = new DataInputStream(in);
            data.skipNBytes(8); // Magic and version.
            values = new Object[data.readUnsignedShort()];
            tags = new int[values.length];
            for (int i = 1; i < values.length; i++) {
                tags[i] = data.readUnsignedByte();
                values[i] = switch (tags[i]) {
                    case 1 -> data.readUTF();
                    case 3, 4 -> data.readInt();
                    case 5, 6 -> data.readLong();
                    case 7, 8, 16, 19, 20 -> data.readUnsignedShort();
                    case 9, 10, 11, 12, 17, 18 -> new int[] {data.readUnsignedShort(), data.readUnsignedShort()};
                    case 15 -> new int[] {data.readUnsignedByte(), data.readUnsignedShort()};
                    default -> throw new IOException("constant of tag " + tags[i]);
                };
                if (tags[i] == 5 || tags[i] == 6) {
                    i++; // Two entries each.
                }
            }
        }

        Stream<Reference> references() {
            Stream.Builder<Reference> found = Stream.builder();
            for (int i = 1; i < values.length; i++) {
                if (tags[i] == 7) {
                    found.add(new Reference(className(i), null, null));
                } else if (tags[i] >= 9 && tags[i] <= 11) {
                    int[] member = (int[]) values[i];
                    int[] nameAndType = (int[]) values[member[1]];
                    found.add(new Reference(className(member[0]), (String) values[nameAndType[0]], (String) values[nameAndType[1]]));
                }
            }
            return found.build();
        }

        private String className(int index) {
            return ((String) values[(int) values[index]]).replace('/', '.');
        }
    }
}
