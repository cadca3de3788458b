package source

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// readTimeout limits one read of a ConfigMap, Secret or ControllerRevision, with the wait for
// its turn.
const readTimeout = 10 * time.Second

// files are what containers get from ConfigMaps, Secrets and ControllerRevisions. What is
// decided by a file is its digest. Its content is in memory as long as there is room, and is
// read again when a container needs it.
type files struct {
	memory memory
	turns  *turns
	// loads are the reads of contents that are under way: all pods of an exporter ask at once.
	loads singleflight.Group
}

func newFiles() *files {
	return &files{memory: memory{limit: memoryLimit, idle: memoryIdle}, turns: newTurns()}
}

// read calls do in a turn of the namespace. Others may wait for the same read, so it does not
// end with the one who asks first.
func (f *files) read(ctx context.Context, namespace string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	done, err := f.turns.take(ctx, namespace)
	if err != nil {
		return err
	}
	defer done()
	return do(ctx)
}

// keep returns an input without its content, which is kept in memory as long as there is room.
func (f *files) keep(namespace string, input steps.Input) steps.Input {
	if input.Problem == nil {
		f.memory.put(namespace, input.SHA256, input.Content)
	}
	input.Content = nil
	return input
}

// loader returns a function that returns the content of a file, which came from an object. If it
// is no longer in memory, it reads the object again.
func (f *files) loader(namespace, object string, file helperapi.File, read func(context.Context) (steps.Input, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		content, err, _ := f.loads.Do(namespace+" "+object+" "+file.SHA256, func() (any, error) {
			if content, found := f.memory.get(namespace, file.SHA256); found {
				return content, nil
			}
			input, err := read(ctx)
			switch {
			case err != nil:
				return nil, err
			case input.Problem != nil || input.File != file:
				return nil, &transport.Error{Reason: v1alpha1.ReasonConfigChanged, Message: object + " changed before its content was copied; reading it again."}
			}
			f.memory.put(namespace, file.SHA256, input.Content)
			return input.Content, nil
		})
		if err != nil {
			return nil, err
		}
		return content.([]byte), nil
	}
}
