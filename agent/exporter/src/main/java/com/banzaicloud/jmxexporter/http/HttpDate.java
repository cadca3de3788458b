package com.banzaicloud.jmxexporter.http;

/** The Date field's format (RFC 9110, section 5.6.7), which the JDK's formatters load some hundred classes for. */
final class HttpDate {

    private static final String[] DAYS = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
    private static final String[] MONTHS = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

    private HttpDate() {}

    /** Formats milliseconds since 1970, which is in the past, as "Sun, 06 Nov 1994 08:49:37 GMT". */
    static String format(long millis) {
        long seconds = millis / 1000;
        int day = (int) (seconds / 86400);
        int second = (int) (seconds % 86400);
        StringBuilder date = new StringBuilder(29).append(DAYS[day % 7]).append(", ");
        int year = 1970;
        int left = day;
        while (left >= days(year)) {
            left -= days(year++);
        }
        int month = 0;
        while (left >= days(year, month)) {
            left -= days(year, month++);
        }
        two(date, left + 1).append(' ').append(MONTHS[month]).append(' ').append(year).append(' ');
        two(date, second / 3600).append(':');
        two(date, second / 60 % 60).append(':');
        return two(date, second % 60).append(" GMT").toString();
    }

    private static boolean isLeap(int year) {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    }

    private static int days(int year) {
        return isLeap(year) ? 366 : 365;
    }

    private static int days(int year, int month) {
        switch (month) {
            case 1:
                return isLeap(year) ? 29 : 28;
            case 3:
            case 5:
            case 8:
            case 10:
                return 30;
            default:
                return 31;
        }
    }

    private static StringBuilder two(StringBuilder text, int number) {
        return text.append((char) ('0' + number / 10)).append((char) ('0' + number % 10));
    }
}
