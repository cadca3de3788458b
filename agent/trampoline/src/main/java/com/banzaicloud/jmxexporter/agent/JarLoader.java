package com.banzaicloud.jmxexporter.agent;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.security.CodeSource;
import java.security.ProtectionDomain;
import java.security.cert.Certificate;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;

/**
 * Defines the classes of a jar that is in memory: those that were hashed, whatever its path holds by now. It sees the
 * platform below it and nothing of the application, and keeps no file open.
 */
final class JarLoader extends ClassLoader {

    static {
        registerAsParallelCapable();
    }

    private final Jar jar;
    private final Attributes manifest;
    private final ProtectionDomain domain;

    /**
     * @param content the jar
     * @param source where it was read from: what a security policy may grant to
     */
    JarLoader(byte[] content, URL source) throws IOException {
        super(platform());
        jar = new Jar(content);
        byte[] main = jar.entry(JarFile.MANIFEST_NAME);
        manifest = main == null ? new Attributes() : new Manifest(new ByteArrayInputStream(main)).getMainAttributes();
        domain = new ProtectionDomain(new CodeSource(source, (Certificate[]) null), null, this, null);
    }

    /** Below the application's loader: the platform's since Java 9, the extensions' before. */
    private static ClassLoader platform() {
        ClassLoader loader = ClassLoader.getSystemClassLoader();
        while (loader.getParent() != null) {
            loader = loader.getParent();
        }
        return loader;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        byte[] code;
        try {
            code = jar.entry(name.replace('.', '/') + ".class");
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
        if (code == null) {
            throw new ClassNotFoundException(name);
        }
        definePackageOf(name);
        return defineClass(name, code, 0, code.length, domain);
    }

    /** With the versions in the manifest, which the implementation tells of itself. */
    private void definePackageOf(String className) {
        String name = className.substring(0, Math.max(0, className.lastIndexOf('.')));
        if (getPackage(name) != null) {
            return;
        }
        try {
            definePackage(name,
                    manifest.getValue(Attributes.Name.SPECIFICATION_TITLE),
                    manifest.getValue(Attributes.Name.SPECIFICATION_VERSION),
                    manifest.getValue(Attributes.Name.SPECIFICATION_VENDOR),
                    manifest.getValue(Attributes.Name.IMPLEMENTATION_TITLE),
                    manifest.getValue(Attributes.Name.IMPLEMENTATION_VERSION),
                    manifest.getValue(Attributes.Name.IMPLEMENTATION_VENDOR),
                    null);
        } catch (IllegalArgumentException e) {
            // Another thread was faster.
        }
    }

    @Override
    public InputStream getResourceAsStream(String name) {
        byte[] content;
        try {
            content = jar.entry(name);
        } catch (IOException e) {
            return null;
        }
        return content == null ? super.getResourceAsStream(name) : new ByteArrayInputStream(content);
    }
}
