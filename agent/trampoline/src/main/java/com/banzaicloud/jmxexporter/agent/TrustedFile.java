package com.banzaicloud.jmxexporter.agent;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.SecureDirectoryStream;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Reads files that say what this JVM shall run. In a {@code /tmp} that others may write to, anybody can rename our
 * directory away and put one of their own in its place, at any time. So a file counts only if it and its directory
 * belong to root or to the JVM's effective user and nobody else may write to them; links are not followed; and
 * it is read from the directory that was checked (openat(2)), not from whatever has its path by then. The exporter's
 * jar carries a copy.
 */
public final class TrustedFile {

    private static final int TYPE = 0170000; // inode(7): S_IFMT and two of its values
    private static final int DIRECTORY = 0040000;
    private static final int REGULAR = 0100000;
    private static final int OTHERS_WRITE = 0022;

    private static final Set<OpenOption> READ =
            new HashSet<OpenOption>(Arrays.asList(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));

    private TrustedFile() {}

    /**
     * Returns the whole content of a file of at most this many bytes.
     *
     * @throws Refusal if it is not to be trusted, or longer
     * @throws IOException if it cannot be read; java.nio.file.NoSuchFileException if it is not there
     */
    public static byte[] read(Path file, int limit) throws IOException, Refusal {
        Path directory = file.toAbsolutePath().getParent();
        if (directory == null) {
            throw new Refusal(file + " is not a file: name one in a directory.");
        }
        // With the dot, whatever is no directory is not opened (ENOTDIR): to open a FIFO waits for somebody who writes.
        try (DirectoryStream<Path> opened = Files.newDirectoryStream(directory.resolve("."))) {
            if (!(opened instanceof SecureDirectoryStream)) {
                throw new Refusal("The file system of " + directory + " cannot open files relative to a directory: use another one.");
            }
            return read((SecureDirectoryStream<Path>) opened, directory, file.getFileName(), limit);
        } catch (NoSuchFileException e) {
            throw new NoSuchFileException(file.toString()); // All of it, not its name in the directory.
        }
    }

    private static byte[] read(SecureDirectoryStream<Path> opened, Path directory, Path name, int limit) throws IOException, Refusal {
        long user = effectiveUser();
        // What is open keeps its inode number: who has that number under the path is the directory that is open.
        check(directory, DIRECTORY, user, opened.getFileAttributeView(BasicFileAttributeView.class).readAttributes().fileKey());
        check(directory.resolve(name), REGULAR, user,
                opened.getFileAttributeView(name, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS).readAttributes().fileKey());
        try (SeekableByteChannel channel = opened.newByteChannel(name, READ)) {
            return content(channel, directory.resolve(name), limit);
        }
    }

    private static void check(Path path, int type, long user, Object opened) throws IOException, Refusal {
        Map<String, Object> found;
        try {
            found = Files.readAttributes(path, "unix:uid,mode,fileKey", LinkOption.NOFOLLOW_LINKS);
        } catch (UnsupportedOperationException | IllegalArgumentException e) {
            throw new Refusal("The file system of " + path + " does not say who may write to it (" + e.getMessage() + "): use another one.");
        }
        long owner = ((Integer) found.get("uid")) & 0xffffffffL;
        int mode = (Integer) found.get("mode");
        if ((mode & TYPE) != type) {
            throw new Refusal(path + " is not a " + (type == DIRECTORY ? "directory" : "regular file") + ": remove it.");
        }
        if (owner != 0 && owner != user) {
            throw new Refusal(path + " belongs to user " + owner + ", not to root or the JVM's user " + user + ": remove it.");
        }
        if ((mode & OTHERS_WRITE) != 0) {
            throw new Refusal(path + " may be written by others (mode " + Integer.toOctalString(mode & 07777) + "): remove it.");
        }
        if (!opened.equals(found.get("fileKey"))) {
            throw new Refusal(path + " was replaced while it was opened.");
        }
    }

    private static byte[] content(SeekableByteChannel channel, Path path, int limit) throws IOException, Refusal {
        long size = channel.size();
        if (size > limit) {
            throw new Refusal(path + " has " + size + " bytes, more than " + limit + ".");
        }
        ByteBuffer content = ByteBuffer.allocate((int) size);
        while (content.hasRemaining()) {
            if (channel.read(content) < 0) {
                throw new EOFException(path + " became shorter while it was read.");
            }
        }
        return content.array();
    }

    /** The second of four numbers in proc_pid_status(5): real, effective, saved, file system. */
    private static long effectiveUser() throws IOException, Refusal {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"), StandardCharsets.ISO_8859_1)) {
            if (line.startsWith("Uid:\t")) {
                return Long.parseLong(line.split("\t")[2]);
            }
        }
        throw new Refusal("/proc/self/status does not say which user the JVM runs as.");
    }
}
