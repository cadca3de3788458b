// Package member is PID 1 of a member's pod: it makes the data directory fit to run, runs
// PostgreSQL on it as a standby, and says in the termination message why it cannot. It has
// no rights in the API: what it is to do stands in its arguments and its environment.
package member

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// Verb is what a member does before it runs PostgreSQL.
type Verb string

// The verbs.
const (
	// Seed runs initdb, unless there is data already.
	Seed Verb = "seed"
	// Join makes the data fit to follow the primary: as it is, by pg_rewind, or by pg_basebackup.
	Join Verb = "join"
	// Run takes the data as it is.
	Run Verb = "run"
	// Restore copies the newest base backup, unless there is data already.
	Restore Verb = "restore"
	// Backup makes a base backup of the primary, and runs nothing.
	Backup Verb = "backup"
)

// The variables of the environment that a Config is read from.
const (
	EnvName             = "MEMBER_NAME"
	EnvVolume           = "MEMBER_VOLUME"
	EnvBinaries         = "MEMBER_BINARIES"
	EnvAddress          = "MEMBER_ADDRESS"
	EnvTerminationLog   = "MEMBER_TERMINATION_LOG"
	EnvPassword         = "PGPASSWORD"
	EnvSystemIdentifier = "SYSTEM_IDENTIFIER"
	EnvPrimary          = "PRIMARY_ADDRESS"
	EnvPromotion        = "PROMOTION"
	EnvPromotedFrom     = "PROMOTED_FROM"
	EnvBackups          = "MEMBER_BACKUPS"
)

// User is the superuser, by whose password the operator and the members connect.
const User = "postgres"

// Port is the one that each member listens on.
const Port = 5432

// Config is what the operator passes to a member.
type Config struct {
	Verb Verb
	// Name is the member's: its cluster_name, and part of the name of its slot.
	Name string
	// Volume is the directory of its claim; the data is in it.
	Volume string
	// Binaries is the directory of PostgreSQL's programs.
	Binaries string
	// Address is the one that it listens on.
	Address string
	// Password is that of User.
	Password string
	// SystemIdentifier is the one that its data must have; empty before there is one.
	SystemIdentifier string
	// Primary is the address to join; Promotion is the number of its promotion, and
	// PromotedFrom the number of the one that it had followed before.
	Primary                 string
	Promotion, PromotedFrom int64
	// Backups is the directory of the base backups.
	Backups string
	// Log is where PostgreSQL's own goes.
	Log io.Writer
}

// Read reads a Config from the arguments and the environment.
func Read(args []string, getenv func(string) string) (Config, error) {
	c := Config{
		Name: getenv(EnvName), Volume: getenv(EnvVolume), Binaries: getenv(EnvBinaries), Address: getenv(EnvAddress),
		Password: getenv(EnvPassword), SystemIdentifier: getenv(EnvSystemIdentifier), Primary: getenv(EnvPrimary),
		Backups: getenv(EnvBackups),
	}
	if len(args) != 1 {
		return c, fmt.Errorf("one argument is needed (seed, join, run, restore or backup), and there are %d", len(args))
	}
	c.Verb = Verb(args[0])
	needed := map[string]string{EnvBinaries: c.Binaries, EnvPassword: c.Password}
	if c.Verb != Backup {
		needed[EnvName], needed[EnvVolume], needed[EnvAddress] = c.Name, c.Volume, c.Address
	}
	switch c.Verb {
	case Seed, Run:
	case Restore:
		needed[EnvBackups], needed[EnvSystemIdentifier] = c.Backups, c.SystemIdentifier
	case Backup:
		needed[EnvBackups], needed[EnvSystemIdentifier], needed[EnvPrimary] = c.Backups, c.SystemIdentifier, c.Primary
	case Join:
		needed[EnvPrimary], needed[EnvSystemIdentifier] = c.Primary, c.SystemIdentifier
		for name, number := range map[string]*int64{EnvPromotion: &c.Promotion, EnvPromotedFrom: &c.PromotedFrom} {
			var err error
			if *number, err = strconv.ParseInt(getenv(name), 10, 64); err != nil {
				return c, fmt.Errorf("%s is not a number: %w", name, err)
			}
		}
	default:
		return c, fmt.Errorf("the argument is %q, and is to be seed, join, run, restore or backup", args[0])
	}
	for name, value := range needed {
		if value == "" {
			return c, fmt.Errorf("%s is not set, and %s needs it", name, c.Verb)
		}
	}
	return c, nil
}

// data returns the data directory. It is one below the volume, which may have a lost+found,
// and so that a new one takes the place of an old one by a rename.
func (c Config) data() string { return filepath.Join(c.Volume, "data") }

// Slot is the name of the replication slot that a member follows a promotion by. A
// primary has slots of its own promotion alone, so that no standby streams from it in
// another promotion than the one its slot names.
func Slot(promotion int64, member string) string {
	return fmt.Sprintf("promotion_%d_%s", promotion, strings.ReplaceAll(member, "-", "_"))
}

// PromotionOf is the number in the name of a Slot; 0 if it is none.
func PromotionOf(slot string) int64 {
	number, _, _ := strings.Cut(strings.TrimPrefix(slot, "promotion_"), "_")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
