package controller

import (
	"fmt"
	"slices"
	"strings"
)

// Which members acknowledge commits, and how many must be disconnected for a failover.
//
// Of n standbys any k = ⌈n/2⌉ acknowledge each commit. A standby is promoted once n-k+1 of
// them disconnected from the primary: at most k-1 are left, so that the primary can have no
// further commit acknowledged, and each acknowledged commit is on at least one disconnected
// standby. While members change, both the old and the new set must satisfy this: the primary
// may be using either.

// standbysOf returns the voters without the primary.
func standbysOf(voters []string, primary string) []string {
	return slices.DeleteFunc(slices.Clone(voters), func(name string) bool { return name == primary })
}

// acknowledging returns how many of n standbys acknowledge each commit.
func acknowledging(n int) int { return (n + 1) / 2 }

// canFailOver reports whether enough standbys disconnected to promote one of them without
// losing an acknowledged commit. Without standbys it is never so.
func canFailOver(voters []string, primary string, reachable []string) bool {
	standbys := standbysOf(voters, primary)
	disconnected := 0
	for _, name := range standbys {
		if slices.Contains(reachable, name) {
			disconnected++
		}
	}
	return disconnected >= len(standbys)-acknowledging(len(standbys))+1
}

// synchronousStandbyNames returns the setting of a primary of these voters.
func synchronousStandbyNames(voters []string, primary string) string {
	standbys := standbysOf(voters, primary)
	if len(standbys) == 0 {
		return ""
	}
	slices.Sort(standbys)
	return fmt.Sprintf(`ANY %d ("%s")`, acknowledging(len(standbys)), strings.Join(standbys, `", "`))
}

// membersOf returns the members of a cluster of this size: the primary, then those that are
// members already, by preference, then new ones, by their ordinals.
func membersOf(cluster string, size int, primary string, preferred []string) []string {
	var members []string
	add := func(name string) {
		if name != "" && len(members) < size && !slices.Contains(members, name) {
			members = append(members, name)
		}
	}
	add(primary)
	for _, name := range preferred {
		add(name)
	}
	for ordinal := range size {
		add(memberName(cluster, ordinal))
	}
	slices.Sort(members)
	return members
}

// nextVoters returns the voters with one change towards those that are wanted: one more, of those
// that keep up with the primary, or one less, of those that do not if there is such a one.
func nextVoters(voters, wanted, keepingUp []string) []string {
	voters = slices.Sorted(slices.Values(voters))
	for _, name := range wanted {
		if !slices.Contains(voters, name) && slices.Contains(keepingUp, name) {
			return slices.Sorted(slices.Values(append(voters, name)))
		}
	}
	leaving := slices.DeleteFunc(slices.Clone(voters), func(name string) bool { return slices.Contains(wanted, name) })
	if len(leaving) == 0 {
		return voters
	}
	leaves := leaving[len(leaving)-1]
	for _, name := range leaving {
		if !slices.Contains(keepingUp, name) {
			leaves = name
		}
	}
	return slices.DeleteFunc(voters, func(name string) bool { return name == leaves })
}
