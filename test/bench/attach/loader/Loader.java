import com.sun.tools.attach.VirtualMachine;

/** Loads an agent into a JVM, by the JDK's own means: process ID, jar, options. */
public final class Loader {

    private Loader() {}

    public static void main(String[] args) throws Exception {
        VirtualMachine machine = VirtualMachine.attach(args[0]);
        try {
            machine.loadAgent(args[1], args[2]);
        } finally {
            machine.detach();
        }
    }
}
