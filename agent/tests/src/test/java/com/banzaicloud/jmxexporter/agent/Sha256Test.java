package com.banzaicloud.jmxexporter.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The agent's own SHA-256. */
class Sha256Test {

    /** The examples of NIST for FIPS 180-4. */
    @ParameterizedTest
    @CsvSource({
        "'', e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "abc, ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq, 248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    })
    void examples(String message, String digest) {
        assertEquals(digest, Sha256.hex(message.getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void sameAsTheJdks() throws Exception {
        MessageDigest expected = MessageDigest.getInstance("SHA-256");
        Random random = new Random(1);
        for (int length = 0; length < 300; length++) { // Every way in which a message can end in its last blocks.
            byte[] message = new byte[length];
            random.nextBytes(message);
            assertEquals(HexFormat.of().formatHex(expected.digest(message)), Sha256.hex(message), length + " bytes");
        }
        byte[] large = new byte[3_000_001];
        random.nextBytes(large);
        assertEquals(HexFormat.of().formatHex(expected.digest(large)), Sha256.hex(large));
    }
}
