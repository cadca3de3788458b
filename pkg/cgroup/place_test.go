package cgroup

import (
	"strings"
	"testing"
)

func TestPlaceOf(t *testing.T) {
	const (
		uid   = "0f3f5a6e-1111-4222-8333-444455556666"
		other = "0f3f5a6e-1111-4222-8333-444455556667"
		init  = "0::/init.scope\n"
		kind  = "0::/docker/" + sha + "/init.scope\n"
	)
	slice := func(uid string) string {
		return "kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	for name, test := range map[string]struct {
		groups, node string
		in           bool
	}{
		"containerd, systemd":            {"0::/kubepods.slice/kubepods-burstable.slice/" + slice(uid) + "/cri-containerd-" + id + ".scope\n", init, true},
		"containerd, systemd, v1":        {v1Lines("/kubepods.slice/kubepods-burstable.slice/" + slice(uid) + "/cri-containerd-" + id + ".scope"), v1Lines("/"), true},
		"hybrid":                         {v1Lines("/kubepods/burstable/pod"+uid+"/"+id) + "0::/system.slice/containerd.service\n", v1Lines("/") + init, true},
		"containerd, cgroupfs":           {"0::/kubepods/burstable/pod" + uid + "/" + id + "\n", init, true},
		"containerd, cgroupfs, v1":       {v1Lines("/kubepods/besteffort/pod" + uid + "/" + id), v1Lines("/"), true},
		"containerd, drivers differ":     {v1Lines("/system.slice/containerd.service/" + slice(uid) + ":cri-containerd:" + id), v1Lines("/"), true},
		"CRI-O, systemd":                 {"0::/kubepods.slice/" + slice(uid) + "/crio-" + id + ".scope\n", init, true},
		"CRI-O, child group":             {"0::/kubepods.slice/" + slice(uid) + "/crio-" + id + ".scope/container\n", init, true},
		"CRI-O, cgroupfs":                {"0::/kubepods/pod" + uid + "/crio-" + id + "\n", init, true},
		"CRI-O, monitor":                 {"0::/kubepods.slice/" + slice(uid) + "/crio-conmon-" + id + ".scope\n", init, false},
		"Docker":                         {"0::/kubepods.slice/" + slice(uid) + "/docker-" + id + ".scope\n", init, true},
		"guaranteed":                     {"0::/kubepods.slice/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + id + ".scope\n", init, true},
		"static pod":                     {"0::/kubepods/pod" + strings.ReplaceAll(uid, "-", "") + "/" + id + "\n", init, false}, // another UID
		"kind":                           {"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-" + slice(uid) + "/cri-containerd-" + id + ".scope\n", init, true},
		"kind, v1":                       {"0::/docker/" + sha + "/kubelet/kubepods/burstable/pod" + uid + "/" + id + "\n", kind, true},
		"a node in a pod":                {"0::/kubepods/pod" + other + "/" + sha + "/kubelet/kubepods/pod" + uid + "/" + id + "\n", "0::/kubepods/pod" + other + "/" + sha + "/init.scope\n", true},
		"namespace":                      {"0::/../../../kubepods-burstable.slice/" + slice(uid) + "/cri-containerd-" + id + ".scope\n", "0::/../../../../init.scope\n", true},
		"namespace, cgroupfs":            {"0::/../../pod" + uid + "/" + id + "\n", "0::/../../../..\n", true},
		"namespace, own pod":             {"0::/../cri-containerd-" + id + ".scope\n", "0::/../../../../init.scope\n", false},
		"namespace, itself":              {"0::/\n", "0::/../../../../init.scope\n", false},
		"group of the container's own":   {"0::/kubepods/pod" + uid + "/" + id + "/app/workers\n", init, true},
		"prefix of a container":          {"0::/kubepods/pod" + uid + "/" + id + "a\n", init, false},
		"suffix of a container":          {"0::/kubepods/pod" + uid + "/a" + id + "\n", init, false},
		"another container":              {"0::/kubepods/pod" + uid + "/" + sha + "\n", init, false},
		"another pod":                    {"0::/kubepods/pod" + other + "/" + id + "\n", init, false},
		"prefix of a pod":                {"0::/kubepods/pod" + uid + "a/" + id + "\n", init, false},
		"the pod alone":                  {"0::/kubepods/pod" + uid + "\n", init, false},
		"not directly below":             {"0::/kubepods/pod" + uid + "/nested/" + id + "\n", init, false},
		"the container above":            {"0::/kubepods/" + id + "/pod" + uid + "\n", init, false},
		"pretends to be another":         {"0::/kubepods/pod" + other + "/" + sha + "/pod" + uid + "/" + id + "\n", init, false},
		"pretends by one name":           {"0::/kubepods/pod" + other + "/" + sha + "/" + slice(uid) + ":cri-containerd:" + id + "\n", init, false},
		"in two containers":              {"12:pids:/kubepods/pod" + uid + "/" + id + "\n11:memory:/kubepods/pod" + other + "/" + sha + "\n", v1Lines("/"), false},
		"in two containers, the other":   {"12:pids:/kubepods/pod" + other + "/" + sha + "\n11:memory:/kubepods/pod" + uid + "/" + id + "\n", v1Lines("/"), false},
		"no name before the slice's pod": {"0::/kubepods.slice/xpod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + id + ".scope\n", init, false},
		"a service of the node":          {"0::/system.slice/kubelet.service\n", init, false},
		"colons":                         {"0::/a:b/pod" + uid + "/" + id + "\n", init, true},
		"nothing known":                  {"", init, false},
		"no line of cgroups(7)":          {"kubepods/pod" + uid + "/" + id + "\n", init, false},
	} {
		t.Run(name, func(t *testing.T) {
			place, ok := PlaceOf(test.groups, test.node)
			if in := ok && place.PodUID == uid && place.In(id); in != test.in {
				t.Errorf("got %+v, %v", place, ok)
			}
		})
	}
	if place, ok := PlaceOf("0::/kubepods/pod"+strings.ReplaceAll(uid, "-", "")+"/"+id+"\n", init); !ok || place.PodUID != strings.ReplaceAll(uid, "-", "") {
		t.Errorf("the pod of a static pod is %+v, %v", place, ok)
	}
	if (Place{name: "cri-containerd-.scope"}).In("") {
		t.Error("a place is in a container without an ID")
	}
}

const (
	id  = "c0ffee00000000000000000000000000000000000000000000000000000000aa"
	sha = "5a6e0000000000000000000000000000000000000000000000000000000000bb"
)

// v1Lines returns the control groups of a process that is in the same one of each hierarchy.
func v1Lines(path string) string {
	return "12:pids:" + path + "\n11:memory:" + path + "\n4:rdma:/\n1:name=systemd:" + path + "\n"
}
