package com.banzaicloud.jmxexporter.tests;

import java.util.ResourceBundle;

/** A logging framework of the application, on whose output everything shows. */
public final class NoisyLoggerFinder extends System.LoggerFinder {

    /** For the service loader. */
    public NoisyLoggerFinder() {
        boolean application = Thread.currentThread().getContextClassLoader() == ClassLoader.getSystemClassLoader();
        System.out.println("the logger finder is made in " + (application ? "the application's" : "another") + " context");
    }

    @Override
    public System.Logger getLogger(String name, Module module) {
        return new System.Logger() {
            @Override
            public String getName() {
                return name;
            }

            @Override
            public boolean isLoggable(Level level) {
                return true;
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
                System.out.println(name + ": " + message);
            }

            @Override
            public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
                System.out.println(name + ": " + format);
            }
        };
    }
}
