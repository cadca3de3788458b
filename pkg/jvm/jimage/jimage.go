// Package jimage reads a resource from a jimage file, which contains the classes and
// resources of a Java runtime (lib/modules).
package jimage

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// image is an open jimage. The file consists of a header, a perfect hash table of two
// arrays, the locations of the resources, their names, and the resources themselves
// (src/java.base/share/native/libjimage).
type image struct {
	file  io.ReaderAt
	order binary.ByteOrder
	// Offsets of the sections, and the number of entries in the hash table.
	redirects, offsets, locations, names, resources int64
	entries                                         uint32
}

// resource is the name of a resource, split as in a jimage.
type resource struct{ module, parent, base, extension string }

var (
	// vmOptions is the first place where HotSpot looks for options. It is written by
	// jlink --add-options (JDK 14).
	vmOptions = resource{"java.base", "jdk/internal/vm", "options", ""}
	// object is in every jimage: if it is not found, the format is not understood.
	object = resource{"java.base", "java/lang", "Object", "class"}
)

// path returns the string that is hashed.
func (r resource) path() string {
	name := "/" + r.module + "/" + r.parent + "/" + r.base
	if r.extension != "" {
		name += "." + r.extension
	}
	return name
}

// Attributes of a location (ImageLocation in imageFile.hpp).
const (
	attributeModule = iota + 1
	attributeParent
	attributeBase
	attributeExtension
	attributeOffset
	attributeCompressed
	attributeSize
)

const (
	magic      = 0xCAFEDADA
	major      = 1 // the upper half of the version field
	headerSize = 7 * 4
	// hashSeed is the initial value of a hash, and its multiplier.
	hashSeed = 0x01000193
	// maxVMOptions limits the size of the resource, in bytes.
	maxVMOptions = 1 << 20
)

var errNotJimage = errors.New("not a jimage of a known version")

// VMOptions returns the options in a jimage, empty if there are none.
func VMOptions(file io.ReaderAt) (string, error) {
	image, err := open(file)
	if err != nil {
		return "", err
	}
	if _, found, err := image.find(object); err != nil || !found {
		return "", errors.Join(errNotJimage, err)
	}
	location, found, err := image.find(vmOptions)
	if err != nil || !found {
		return "", err
	}
	content, err := image.content(location)
	return string(content), err
}

func open(file io.ReaderAt) (*image, error) {
	header := make([]byte, headerSize)
	if _, err := file.ReadAt(header, 0); err != nil {
		return nil, err
	}
	image := &image{file: file, order: binary.LittleEndian}
	if image.order.Uint32(header) != magic {
		image.order = binary.BigEndian
	}
	field := func(i int) uint32 { return image.order.Uint32(header[4*i:]) }
	if field(0) != magic || field(1)>>16 != major {
		return nil, errNotJimage
	}
	image.entries = field(4)
	image.redirects = headerSize
	image.offsets = image.redirects + 4*int64(image.entries)
	image.locations = image.offsets + 4*int64(image.entries)
	image.names = image.locations + int64(field(5))
	image.resources = image.names + int64(field(6))
	return image, nil
}

// attributes are the attributes of a location, indexed by kind.
type attributes [32]uint64

// find looks up a resource in the hash table (ImageStrings::find): a redirect is 0, the
// seed of a second hash, or -1 minus the index. A name that is not in the table may lead
// to another resource, so the name found is compared.
func (j *image) find(r resource) (location attributes, found bool, err error) {
	if j.entries == 0 {
		return location, false, nil
	}
	redirect, err := j.word(j.redirects, hashName(r.path(), hashSeed)%j.entries)
	if err != nil || redirect == 0 {
		return location, false, err
	}
	index := hashName(r.path(), redirect) % j.entries
	if int32(redirect) < 0 {
		index = uint32(-1 - int32(redirect))
	}
	offset, err := j.word(j.offsets, index)
	if err != nil {
		return location, false, err
	}
	if location, err = j.location(j.locations + int64(offset)); err != nil {
		return location, false, err
	}
	for kind, want := range map[int]string{
		attributeModule: r.module, attributeParent: r.parent, attributeBase: r.base, attributeExtension: r.extension,
	} {
		if is, err := j.isName(location[kind], want); err != nil || !is {
			return location, false, err
		}
	}
	return location, true, nil
}

// location reads attributes: each is a byte with kind and length, followed by a number of
// that many bytes. Kind 0 ends the list.
func (j *image) location(at int64) (location attributes, err error) {
	data := make([]byte, len(location)*9)
	n, err := j.file.ReadAt(data, at)
	if err != nil && err != io.EOF {
		return location, err
	}
	for data = data[:n]; len(data) > 0 && data[0]>>3 != 0; {
		kind, end := data[0]>>3, int(data[0]&7)+2
		if len(data) < end {
			return location, errNotJimage
		}
		for _, b := range data[1:end] {
			location[kind] = location[kind]<<8 | uint64(b)
		}
		data = data[end:]
	}
	return location, nil
}

// word reads one entry of an array.
func (j *image) word(array int64, index uint32) (uint32, error) {
	data := make([]byte, 4)
	if _, err := j.file.ReadAt(data, array+4*int64(index)); err != nil {
		return 0, err
	}
	return j.order.Uint32(data), nil
}

// isName reports whether the NUL-terminated string at offset is the wanted one.
func (j *image) isName(offset uint64, want string) (bool, error) {
	data := make([]byte, len(want)+1)
	if _, err := j.file.ReadAt(data, j.names+int64(offset)); err != nil {
		return false, err
	}
	return string(data) == want+"\x00", nil
}

// content reads the content of a resource.
func (j *image) content(location attributes) ([]byte, error) {
	stored := location[attributeSize]
	if location[attributeCompressed] != 0 {
		stored = location[attributeCompressed]
	}
	if stored > maxVMOptions || location[attributeSize] > maxVMOptions {
		return nil, fmt.Errorf("a resource of %d bytes is too large", location[attributeSize])
	}
	data := make([]byte, stored)
	if _, err := j.file.ReadAt(data, j.resources+int64(location[attributeOffset])); err != nil {
		return nil, err
	}
	if location[attributeCompressed] == 0 {
		return data, nil
	}
	return j.inflate(data, int64(location[attributeSize]))
}

// inflate decompresses a resource compressed with jlink --compress. A header precedes the
// data (ResourceHeader in imageDecompressor.hpp): magic, two sizes, and the decompressor.
// The only other decompressor is for classes.
func (j *image) inflate(data []byte, size int64) ([]byte, error) {
	const (
		magic  = 0xCAFEFAFA
		header = 4 + 8 + 8 + 4 + 4 + 1
	)
	if len(data) < header || j.order.Uint32(data) != magic {
		return nil, errors.New("a compressed resource without a header")
	}
	zip, err := j.isName(uint64(j.order.Uint32(data[20:])), "zip")
	if err != nil {
		return nil, err
	}
	if !zip {
		return nil, errors.New("a resource of an unknown compression")
	}
	inflater, err := zlib.NewReader(bytes.NewReader(data[header:]))
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	_, err = io.ReadFull(inflater, content)
	return content, err
}

// hashName implements ImageStrings::hash_code.
func hashName(name string, seed uint32) uint32 {
	for _, b := range []byte(name) {
		seed = seed*hashSeed ^ uint32(b)
	}
	return seed & 0x7FFFFFFF
}
