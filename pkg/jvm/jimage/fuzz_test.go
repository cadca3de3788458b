package jimage_test

import (
	"bytes"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jimage"
)

func FuzzVMOptions(f *testing.F) {
	header := []byte("\xda\xda\xfe\xca\x00\x00\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x10\x00\x00\x00\x20\x00\x00\x00")
	f.Add(header)
	f.Add(append(header, bytes.Repeat([]byte("\xff"), 64)...))
	f.Add(append(header, "\xff\xff\xff\xff\x00\x00\x00\x00\x08\x01\x10\x02\x18\x03\x20\x04\x00java.base\x00java/lang\x00Object\x00class\x00"...))
	f.Fuzz(func(t *testing.T, file []byte) {
		if options, err := jimage.VMOptions(bytes.NewReader(file)); len(options) > 1<<20 {
			t.Errorf("%d bytes of options, %v", len(options), err)
		}
	})
}
