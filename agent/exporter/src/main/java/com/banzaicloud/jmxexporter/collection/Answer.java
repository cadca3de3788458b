package com.banzaicloud.jmxexporter.collection;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** What one collection found. Any number of clients read it, each at its own speed. */
public final class Answer {

    /** Bytes of the samples that are objects of the library at a time, for each client. */
    private static final int BATCH = 128 << 10;
    /** Bytes that a sample counts at least. */
    private static final int SAMPLE = 256;

    private final List<Part> parts;

    /** One with these metrics. */
    public Answer(List<Part> parts) {
        this.parts = parts;
        Collections.sort(parts);
    }

    /**
     * Writes the metrics of these names; when null, all but those that have to be asked for. The library makes and writes some samples after the other, and
     * what it would repeat is left out.
     */
    public void write(ExpositionFormatWriter writer, OutputStream out, EscapingScheme scheme, Set<String> names) throws IOException {
        Joint joint = new Joint(out);
        List<MetricSnapshot> batch = new ArrayList<>();
        int left = BATCH;
        for (Part part : parts) {
            if (names == null ? part.isOnlyByName() : !names.contains(part.exposedName())) {
                continue;
            }
            int bytes = Math.min(BATCH, Math.max(SAMPLE, part.longest()));
            for (int from = 0; from < part.size();) {
                if (left < bytes) {
                    writer.write(joint, new MetricSnapshots(batch), scheme);
                    joint.next(from > 0);
                    batch.clear();
                    left = BATCH;
                }
                int end = Math.min(part.size(), from + left / bytes);
                batch.add(part.snapshot(from, end));
                left -= (end - from) * bytes;
                from = end;
            }
        }
        writer.write(joint, new MetricSnapshots(batch), scheme);
        joint.end();
    }
}
