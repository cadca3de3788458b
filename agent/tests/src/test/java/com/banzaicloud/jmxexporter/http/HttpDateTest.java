package com.banzaicloud.jmxexporter.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Dates as RFC 9110 has them, against those of the library that the agent does not load. */
class HttpDateTest {

    @ParameterizedTest
    @ValueSource(longs = {0, 784111777, 951782400, 951868799, 951868800, 1709164800, 1735689599, 1767225600, 4107542400L})
    void dates(long second) {
        assertEquals(DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US).format(Instant.ofEpochSecond(second).atOffset(ZoneOffset.UTC)),
                HttpDate.format(second * 1000));
    }
}
