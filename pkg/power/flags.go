package power

import (
	"flag"
	"strconv"
	"strings"
)

// BindFlags defines the flag of each power, which changes a.
func (a *Allowed) BindFlags(flags *flag.FlagSet, powers ...Power) {
	for _, power := range powers {
		if power.List == "" {
			flags.BoolFunc(power.Flag, power.Usage(), func(text string) error {
				allowed, err := strconv.ParseBool(text)
				if delete(*a, power.Flag); allowed {
					a.add(power.Flag)
				}
				return err
			})
			continue
		}
		flags.Func(power.Flag, power.Usage(), func(list string) error {
			for value := range strings.SplitSeq(list, ",") {
				parsed, err := power.parse(value)
				if err != nil {
					return err
				}
				a.add(power.Flag, parsed)
			}
			return nil
		})
	}
}

func (a *Allowed) add(flag string, values ...string) {
	if *a == nil {
		*a = Allowed{}
	}
	(*a)[flag] = append((*a)[flag], values...)
}
