//go:build linux

package helper

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

const (
	metricsPath = "/metrics"
	// probeTimeout is how long an endpoint may take for its complete response.
	probeTimeout = 5 * time.Second
	// maxPage limits how much of the response is read, in bytes. A longer response is
	// valid too.
	maxPage = 16 << 20
)

// probe requests a page from an endpoint on the loopback address, which a node agent does not
// reach: see probeOnNode.
func probe(ctx context.Context, req helperapi.Request) error {
	e := req.Probe
	if e == nil || e.Port < 1 || e.Port > 65535 || !strings.HasPrefix(e.Path, "/") || strings.ContainsAny(e.Path, " \r\n\t\x00") {
		return helperapi.Errorf(helperapi.ReasonBadRequest, "The endpoint to probe is not one.")
	}
	if container(req).OnNode() {
		return probeOnNode(ctx, req)
	}
	return get(ctx, *e)
}

// get requests a page, which requires status 200 and a body that ends. For TLS, it only
// connects.
func get(ctx context.Context, e helperapi.Endpoint) error {
	if e.TLS {
		conn, err := connect(ctx, e.Port)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return getPage(ctx, e, func(page *bufio.Reader) error {
		_, err := io.Copy(io.Discard, page)
		return err
	})
}

// getPage sends a GET request by HTTP/1.0 (RFC 1945), which has neither chunked encoding
// nor persistent connections. Any status other than 200 is an error, including redirects.
// read receives everything after the status line, at most maxPage bytes. Package net/http
// would triple the size of the helper.
func getPage(ctx context.Context, e helperapi.Endpoint, read func(page *bufio.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := connect(ctx, e.Port)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n", e.Path, e.Port); err != nil {
		return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "Port %d: %v.", e.Port, err)
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxPage))
	line, err := answer.ReadSlice('\n')
	if err != nil {
		return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "Port %d does not answer in HTTP: %v.", e.Port, err)
	}
	if code, ok := statusCode(string(line)); !ok || code != 200 {
		return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "Port %d answers %s with %q.", e.Port, e.Path, helperapi.Bounded(strings.TrimSpace(string(line))))
	}
	if err := read(answer); err != nil {
		return helperapi.Errorf(helperapi.ReasonEndpointNotServing, "Port %d breaks off its answer to %s: %v.", e.Port, e.Path, err)
	}
	return nil
}

func connect(ctx context.Context, port int32) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := dialLoopback(ctx, port)
	if err != nil {
		return nil, helperapi.Errorf(helperapi.ReasonEndpointNotServing, "Port %d does not accept connections: %v.", port, err)
	}
	return conn, nil
}

// statusCode parses the code in an HTTP status line.
func statusCode(line string) (int, bool) {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(code)
	return n, err == nil && strings.HasPrefix(version, "HTTP/")
}

// dialLoopback connects to a port on 127.0.0.1 or, if that fails, on ::1.
// Loopback connections succeed or fail immediately, unless the backlog is full.
func dialLoopback(ctx context.Context, port int32) (*os.File, error) {
	conn, err := dialTCP(ctx, syscall.AF_INET, &syscall.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		if v6, failed := dialTCP(ctx, syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}}); failed == nil {
			return v6, nil
		}
	}
	return conn, err
}

func dialTCP(ctx context.Context, family int, address syscall.Sockaddr) (*os.File, error) {
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Connect(fd, address)
	if err != nil && err != syscall.EINPROGRESS {
		syscall.Close(fd)
		return nil, err
	}
	conn := os.NewFile(uintptr(fd), "endpoint")
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := connected(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// connected waits until the connection is established or has failed (EINPROGRESS in
// connect(2)): the socket is then writable, and SO_ERROR has the result.
func connected(conn *os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		if _, failed = syscall.Getpeername(int(fd)); failed == nil {
			return true
		}
		code, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		if err == nil && code == 0 {
			return false // not yet
		}
		failed = errors.Join(err, syscall.Errno(code))
		return true
	})
	return cmp.Or(err, failed)
}
