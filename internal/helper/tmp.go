//go:build linux

package helper

import (
	"os"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// refusedTmp returns why nothing is loaded into a JVM from its /tmp; nil if it is safe.
//
// HotSpot opens an agent's jar by its path. A user who can replace the agent directory
// between our check and that open has his code run as the JVM's user. With the sticky bit
// on /tmp only the owner of /tmp can, so processes of other containers that share it gain
// nothing: those of the JVM's user and root could attach to the JVM themselves, through
// its socket in the same /tmp.
func refusedTmp(req helperapi.Request, p jvm.Process) (*helperapi.Error, error) {
	if req.AllowSharedTmp {
		return nil, nil
	}
	root, err := p.OpenTmp()
	if err != nil {
		if refusal := typed(err); refusal.Reason == helperapi.ReasonTmpNotWritable { // of this JVM only, not of the others in the container
			return refusal, nil
		}
		return nil, err
	}
	defer root.Close()
	tmp, err := jvm.StatTmp(root)
	if err != nil {
		return nil, err
	}
	trusted := []int{os.Geteuid(), p.UID, p.RootUID()}
	if req.TmpMountedElsewhere && tmp.Exposed(trusted...) {
		return helperapi.Errorf(helperapi.ReasonTmpShared, "The volume at /tmp is mounted in other containers too, and others may replace files in it (%v). %s", tmp.Mode(), tmpRemedy), nil
	}
	intruders, err := tmp.Intruders(container(req), trusted...)
	if err != nil || len(intruders) == 0 {
		return nil, err
	}
	return helperapi.Errorf(helperapi.ReasonTmpShared, "Processes of user %d may replace files in /tmp (%v), and so run code in the JVM of user %d. %s", intruders[0], tmp.Mode(), p.UID, tmpRemedy), nil
}

// checkTmp refuses to stage where loading would be refused: for the target or, without
// one, for any JVM of the container.
func checkTmp(req helperapi.Request) error {
	if req.Target != nil {
		p, err := lookup(req)
		if err != nil {
			return err
		}
		return refuseTmp(req, p)
	}
	found, err := container(req).Find()
	if err != nil {
		return err
	}
	var refusal error
	for _, p := range found {
		if refusal = refuseTmp(req, p); refusal == nil {
			return nil
		}
	}
	return refusal
}

// refuseTmp returns the result of refusedTmp as a single error.
func refuseTmp(req helperapi.Request, p jvm.Process) error {
	refusal, err := refusedTmp(req, p)
	if refusal != nil {
		return refusal
	}
	return err
}

const tmpRemedy = "Give /tmp the sticky bit (chmod 1777), run all processes there as one user, or set spec.allowSharedTmp to accept it. " +
	"Or: " + jvm.MountTmp
