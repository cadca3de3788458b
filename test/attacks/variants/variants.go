// Package variants changes values of API types, one field at a time. It finds the fields by
// reflection, so a field that a later release of Kubernetes adds is among them.
package variants

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Variant is a copy of a value in which one field is changed.
type Variant[T any] struct {
	// Path names the field by its names in JSON: securityContext.capabilities.add[0]. The
	// index + is that of an element that the original does not have.
	Path string
	// Field is the changed value of the field; nil if the field was removed.
	Field any
	Value T
}

// Name names field and value.
func (v Variant[T]) Name() string {
	if v.Field == nil {
		return v.Path + " is removed"
	}
	text, err := json.Marshal(v.Field)
	if err != nil {
		return fmt.Sprintf("%s=%v", v.Path, v.Field)
	}
	return v.Path + "=" + strings.Trim(string(text), `"`)
}

// Values are what the API server accepts, where any value of the type would not do.
type Values struct {
	// ByType has enumerations, opaque types such as quantities, and structs that are
	// created where the original has none. Without a row, a struct is created empty.
	ByType map[reflect.Type][]any
	// ByPath has those of single fields, by the end of their paths.
	ByPath map[string][]any
}

// Of returns the variants of a value: each field gets other values, is removed if it is set,
// and is set if it is not, down to the scalars. It fails if it needs a value of a type that is
// not among values. Recursive types are not supported.
func Of[T any](value T, values Values) ([]Variant[T], error) {
	w := walk{Values: values}
	var all []Variant[T]
	for _, c := range w.changes("", reflect.ValueOf(&value).Elem()) {
		all = append(all, Variant[T]{Path: c.path, Field: c.field, Value: c.value.Interface().(T)})
	}
	if len(w.missing) > 0 {
		return nil, fmt.Errorf("variants: name values of these types: %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(w.missing))), ", "))
	}
	return all, nil
}

// change is a changed copy of a part of the value.
type change struct {
	path  string
	field any
	value reflect.Value
}

type walk struct {
	Values
	missing []string
}

// changes returns the changed copies of v, which is never written to.
func (w *walk) changes(path string, v reflect.Value) []change {
	if values, scalar := w.scalars(path, v); scalar {
		var all []change
		for _, value := range values {
			if !reflect.DeepEqual(value.Interface(), v.Interface()) {
				all = append(all, change{path, value.Interface(), value})
			}
		}
		return all
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.ofStruct(path, v)
	case reflect.Pointer:
		return w.ofPointer(path, v)
	case reflect.Slice:
		return w.ofSlice(path, v)
	case reflect.Map:
		return w.ofMap(path, v)
	default:
		w.missing = append(w.missing, v.Type().String()+" ("+path+")")
		return nil
	}
}

func (w *walk) ofStruct(path string, v reflect.Value) (all []change) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		at := path
		if !field.Anonymous && !strings.Contains(options, "inline") {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		for _, c := range w.changes(at, v.Field(i)) {
			changed := copyOf(v)
			changed.Field(i).Set(c.value)
			all = append(all, change{c.path, c.field, changed})
		}
	}
	return all
}

func (w *walk) ofPointer(path string, v reflect.Value) (all []change) {
	var parts []change
	if v.IsNil() {
		parts = w.created(path, v.Type().Elem())
	} else {
		all = append(all, change{path, nil, reflect.Zero(v.Type())})
		parts = w.changes(path, v.Elem())
	}
	for _, c := range parts {
		pointer := reflect.New(v.Type().Elem())
		pointer.Elem().Set(c.value)
		all = append(all, change{c.path, c.field, pointer})
	}
	return all
}

func (w *walk) ofSlice(path string, v reflect.Value) (all []change) {
	if v.Len() > 0 {
		all = append(all, change{path, nil, reflect.Zero(v.Type())})
	}
	for i := range v.Len() {
		for _, c := range w.changes(fmt.Sprintf("%s[%d]", path, i), v.Index(i)) {
			changed := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
			changed.Index(i).Set(c.value)
			all = append(all, change{c.path, c.field, changed})
		}
	}
	for _, c := range w.created(path+"[+]", v.Type().Elem()) {
		changed := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()+1), v)
		all = append(all, change{c.path, c.field, reflect.Append(changed, c.value)})
	}
	return all
}

func (w *walk) ofMap(path string, v reflect.Value) (all []change) {
	with := func(key, value reflect.Value) reflect.Value {
		changed := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			changed.SetMapIndex(k, v.MapIndex(k))
		}
		changed.SetMapIndex(key, value) // the zero Value removes it
		return changed
	}
	for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
		at := fmt.Sprintf("%s[%s]", path, key)
		all = append(all, change{at, nil, with(key, reflect.Value{})})
		for _, c := range w.changes(at, v.MapIndex(key)) {
			all = append(all, change{c.path, c.field, with(key, c.value)})
		}
	}
	for _, key := range w.created(path+"[+]", v.Type().Key()) {
		if v.MapIndex(key.value).IsValid() || key.value.IsZero() {
			continue
		}
		for _, c := range w.created(path+"[+]", v.Type().Elem()) {
			all = append(all, change{c.path, c.field, with(key.value, c.value)})
		}
	}
	return all
}

// created returns values of a part that the original does not have.
func (w *walk) created(path string, of reflect.Type) (all []change) {
	zero := reflect.New(of).Elem()
	if _, scalar := w.scalars(path, zero); scalar {
		if of.Kind() != reflect.String {
			all = append(all, change{path, zero.Interface(), zero})
		}
		return append(all, w.changes(path, zero)...)
	}
	samples := w.ByType[of]
	for _, sample := range samples {
		v := reflect.ValueOf(sample)
		all = append(all, change{path, sample, v})
		all = append(all, w.changes(path, v)...)
	}
	if len(samples) == 0 {
		all = w.changes(path, zero)
	}
	if len(all) == 0 { // a struct without fields
		all = []change{{path, zero.Interface(), zero}}
	}
	return all
}

// scalars returns values of a scalar other than v: a type without parts, or one that
// marshals itself.
func (w *walk) scalars(path string, v reflect.Value) (values []reflect.Value, scalar bool) {
	if v.Kind() == reflect.Pointer {
		return nil, false
	}
	add := func(value any) { values = append(values, reflect.ValueOf(value).Convert(v.Type())) }
	for _, suffix := range slices.Sorted(maps.Keys(w.ByPath)) {
		if path == suffix || strings.HasSuffix(path, "."+suffix) {
			for _, value := range w.ByPath[suffix] {
				add(value)
			}
			return values, true
		}
	}
	listed := w.ByType[v.Type()]
	_, marshals := reflect.TypeAssert[json.Marshaler](reflect.New(v.Type()))
	switch kind := v.Kind(); {
	case marshals, kind == reflect.String && v.Type() != reflect.TypeFor[string]():
		if len(listed) == 0 {
			w.missing = append(w.missing, v.Type().String()+" ("+path+")")
		}
	case kind == reflect.String:
		add("other")
	case kind == reflect.Bool:
		add(!v.Bool())
	case v.CanInt():
		add(v.Int() + 1)
	default:
		return nil, false
	}
	for _, value := range listed {
		add(value)
	}
	if !v.IsZero() && !marshals && v.Kind() != reflect.Bool {
		values = append(values, reflect.Zero(v.Type()))
	}
	return values, true
}

func copyOf(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}
