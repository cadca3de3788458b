package transport

import (
	"encoding/json"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// awaitHello returns a function that waits for the helper's Hello, and fails with other if
// something else answers. An answer with an error in place of Hello is that error.
func awaitHello(other error) func(*wire.Wire, *place) (helperapi.Hello, error) {
	return func(w *wire.Wire, p *place) (helperapi.Hello, error) {
		defer time.AfterFunc(helloTimeout, func() { w.Cancel(errNotResponding) }).Stop()
		p.stallAfter(stallTimeout)
		line, err := w.Line()
		if err != nil {
			return helperapi.Hello{}, err
		}
		var answer helperapi.Answer
		err = json.Unmarshal([]byte(line), &answer)
		switch {
		case err == nil && answer.Hello != nil:
			p.respond()
			return *answer.Hello, nil
		case err == nil && answer.Report != nil && answer.Report.Error != nil:
			_, other = sanitize(answer.Report)
		}
		w.Cancel(other)
		return helperapi.Hello{}, other
	}
}
