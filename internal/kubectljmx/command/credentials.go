package command

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/endpoint"
)

// credentials are the flags for secured endpoints.
type credentials struct{ username, passwordFile, cert, key string }

func (f *credentials) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.username, "username", "", "user name for a secured endpoint; by default that of the Secret, if you may read it")
	c.Flags().StringVar(&f.passwordFile, "password-file", "", "file with the password for it; - for standard input")
	c.Flags().StringVar(&f.cert, "cert", "", "file with a client certificate for it, in PEM")
	c.Flags().StringVar(&f.key, "key", "", "file with the certificate's key, in PEM")
	c.MarkFlagsRequiredTogether("cert", "key")
}

// addTimeout adds the flag --timeout to a command that scrapes.
func addTimeout(c *cobra.Command, timeout *time.Duration) {
	c.Flags().DurationVar(timeout, "timeout", endpoint.DefaultTimeout, "how long the scrape of a JVM may take")
}

// given reports whether there are any.
func (f *credentials) given() bool { return f.passwordFile != "" || f.cert != "" }

// read returns the credentials for the endpoints of an exporter.
func (f *credentials) read(ctx context.Context, t *tool, c *cluster.Cluster, namespace, exporter string) (endpoint.Credentials, error) {
	all := endpoint.Credentials{Username: f.username}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return all, fmt.Errorf("the client certificate of --cert and --key: %w", err)
		}
		all.Certificate = &pair
	}
	if f.passwordFile == "" {
		return all, nil
	}
	var err error
	if all.Password, err = f.password(t); err != nil {
		return all, err
	}
	if all.Username == "" {
		all.Username, err = endpoint.Username(ctx, c, namespace, exporter)
	}
	return all, err
}

func (f *credentials) password(t *tool) (string, error) {
	from := t.In
	if f.passwordFile != "-" {
		file, err := os.Open(f.passwordFile)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	}
	line, err := bufio.NewReader(from).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		return "", errors.New("the first line of --password-file is empty; it has to be the password")
	}
	return password, nil
}
