//go:build linux

package helper

import (
	"syscall"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// checkSpace refuses files for which the agent directory's file system has too few free
// blocks or inodes. A quota or the kubelet may allow less.
func (dir *directory) checkSpace(files []helperapi.File) error {
	opened, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer opened.Close()
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(opened.Fd()), &fs); err != nil {
		return err
	}
	if fs.Blocks > 0 && fs.Bsize > 0 { // otherwise it is unlimited, such as a tmpfs with size=0
		var blocks uint64
		for _, file := range files {
			blocks += (uint64(file.Size) + uint64(fs.Bsize) - 1) / uint64(fs.Bsize)
		}
		if blocks > fs.Bavail {
			return helperapi.Errorf(helperapi.ReasonNoSpace, "%d MiB are needed in %s, and its file system has less free: make room there.",
				inMiB(int64(blocks)*fs.Bsize, 1), helperapi.AgentDirectory)
		}
	}
	if fs.Files > 0 && uint64(len(files)) > fs.Ffree {
		return helperapi.Errorf(helperapi.ReasonNoSpace, "%d files are needed in %s, and its file system has fewer inodes free: remove files there.", len(files), helperapi.AgentDirectory)
	}
	return nil
}
