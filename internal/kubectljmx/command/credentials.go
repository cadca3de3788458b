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
type credentials struct {
	endpoint.Credentials
	passwordFile, cert, key string
}

func (f *credentials) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.Username, "username", "", "user name for a secured endpoint; by default that of the Secret, if you may read it")
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

// read reads the files of the flags.
func (f *credentials) read(stdin io.Reader) (err error) {
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return fmt.Errorf("the client certificate of --cert and --key: %w", err)
		}
		f.Certificate = &pair
	}
	if f.passwordFile != "" {
		f.Password, err = f.password(stdin)
	}
	return err
}

// of returns the credentials for the endpoints of an exporter.
func (f *credentials) of(ctx context.Context, c *cluster.Cluster, namespace, exporter string) (all endpoint.Credentials, err error) {
	all = f.Credentials
	if all.Password != "" && all.Username == "" {
		all.Username, err = endpoint.Username(ctx, c, namespace, exporter)
	}
	return all, err
}

func (f *credentials) password(stdin io.Reader) (string, error) {
	from := stdin
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
