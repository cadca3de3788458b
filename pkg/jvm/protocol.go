//go:build linux

package jvm

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of a request (AttachOperation in attachListener.hpp).
const (
	protocolVersion = "1" // JDK 24 added 2, and still speaks 1
	argCount        = 3
	argLength       = 1024
)

// encodeRequest encodes a request: protocol version, command and exactly three arguments,
// each terminated by NUL.
func encodeRequest(command string, args ...string) ([]byte, error) {
	if len(args) > argCount {
		return nil, fmt.Errorf("attach: %d arguments, HotSpot takes %d", len(args), argCount)
	}
	request := append([]byte(protocolVersion), 0)
	for i := -1; i < argCount; i++ {
		arg := ""
		switch {
		case i < 0:
			arg = command
		case i < len(args):
			arg = args[i]
		}
		if len(arg) > argLength || strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("attach: argument %d is longer than %d bytes or holds a NUL", i+1, argLength)
		}
		request = append(append(request, arg...), 0)
	}
	return request, nil
}

// decodeReply parses a reply: a decimal result code, a newline, and text.
func decodeReply(reply []byte) (code int, text string, err error) {
	line, rest, found := bytes.Cut(reply, []byte("\n"))
	code, err = strconv.Atoi(string(line))
	if !found || err != nil {
		return 0, "", errors.New("the reply does not begin with a result code")
	}
	return code, string(rest), nil
}

// Results of the instrument library's Agent_OnAttach (InvocationAdapter.c).
const (
	errorBadJar      = 100
	errorNotOnPath   = 101
	errorStartFailed = 102
)

// missingModule returns the module of a FindException: "Module java.instrument not
// found".
func missingModule(text string) (name string, found bool) {
	before, _, found := strings.Cut(text, " not found")
	_, name, named := strings.Cut(before, "Module ")
	const most = 256
	return name, found && named && len(name) <= most && !strings.ContainsAny(name, " \n")
}

// decodeLoad interprets the reply to "load instrument": nil if agentmain returned. The
// reply's code alone is not sufficient. JDK 8 replies 0 and the library's result as a
// number, JDK 9 the same after "return code: ", and JDK 21 replies 0 and a message if it
// did not load the agent.
func decodeLoad(code int, text string) *Error {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "Dynamic agent loading is not enabled") {
		return errorf(AgentLoadingDisabled, noAgentLoading)
	}
	if name, found := missingModule(text); found {
		return errorf(MissingModule, "The Java runtime has no module %[1]s; add it with jlink --add-modules %[1]s.", name)
	}
	if strings.Contains(text, "libinstrument") || strings.HasPrefix(text, "instrument was not loaded") {
		return errorf(MissingModule, "The Java runtime has no module java.instrument (%s); add it with jlink --add-modules java.instrument.", excerpt(text))
	}
	if code != 0 {
		return errorf(AttachFailed, "The JVM answered %d to the load: %s.", code, excerpt(text))
	}
	first, _, _ := strings.Cut(text, "\n")
	result, err := strconv.Atoi(strings.TrimPrefix(first, "return code: "))
	switch {
	case err != nil:
		return errorf(AttachFailed, "The JVM did not load the agent: %s.", excerpt(text))
	case result == 0:
		return nil
	case result == errorBadJar: // nor would it at the next try, and each shows on the application's output
		return errorf(UnsupportedJVM, "The JVM cannot read the agent's jar (result %d): something keeps it from files that this process can read, such as a security module or its limit of open files. Find out what, and restart it.", result)
	case result == errorNotOnPath:
		return errorf(UnsupportedJVM, "The application's system class loader (-Djava.system.class.loader) takes no agents (result %d). Give it a method appendToClassPathForInstrumentation, or start the JVM without it.", result)
	case result == errorStartFailed:
		return errorf(AgentFailed, "The agent's agentmain threw; the stack trace is on the application's standard error.")
	default:
		return errorf(AttachFailed, "The JVM answered %d to the load: %s.", result, excerpt(text))
	}
}

// excerpt returns the beginning of a text on one line, for a message.
func excerpt(text string) string {
	text = text[:min(len(text), 4096)] // a reply may have several megabytes
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "no explanation"
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
