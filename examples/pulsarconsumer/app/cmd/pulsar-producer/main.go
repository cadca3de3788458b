// Pulsar-producer sends one message: PULSAR_MESSAGE to PULSAR_TOPIC of PULSAR_SERVER.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

const timeout = 30 * time.Second

func main() {
	if err := send(os.Getenv("PULSAR_SERVER"), os.Getenv("PULSAR_TOPIC"), os.Getenv("PULSAR_MESSAGE")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func send(server, topic, message string) error {
	if server == "" || topic == "" {
		return errors.New("the variable PULSAR_SERVER or PULSAR_TOPIC is empty")
	}
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: server, ConnectionTimeout: timeout, OperationTimeout: timeout})
	if err != nil {
		return err
	}
	defer client.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, SendTimeout: timeout})
	if err != nil {
		return err
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout) //nolint:forbidigo // main has no caller
	defer cancel()
	id, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte(message)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, "sent", id)
	return err
}
