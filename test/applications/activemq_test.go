package applications

import "os/exec"

var activeMQ = application{start: startActiveMQ, atMost: 32, want: []string{
	`activemq_destination_messages{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_in_flight_messages{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_enqueued_messages_total{broker="shop", destination="orders", type="Queue"} > 0`,
	`activemq_destination_dequeued_messages_total{broker="shop", destination="orders", type="Queue"} > 0`,
	`activemq_destination_expired_messages_total{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_consumers{broker="shop", destination="orders", type="Queue"} > 0`,
	`activemq_destination_producers{broker="shop", destination="orders", type="Queue"} > 0`,
	`activemq_destination_blocked_sends_total{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_memory_bytes{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_memory_usage_ratio{broker="shop", destination="orders", type="Queue"}`,
	`activemq_destination_wait_seconds_mean{broker="shop", destination="orders", type="Queue"}`,
	`activemq_connections{broker="shop"} > 0`,
	`activemq_accepted_connections_total{broker="shop"} > 0`,
	`activemq_messages{broker="shop"}`,
	`activemq_enqueued_messages_total{broker="shop"} > 0`,
	`activemq_dequeued_messages_total{broker="shop"} > 0`,
	`activemq_consumers{broker="shop"} > 0`,
	`activemq_producers{broker="shop"} > 0`,
	`activemq_memory_usage_ratio{broker="shop"}`,
	`activemq_store_usage_ratio{broker="shop"}`,
	`activemq_temp_usage_ratio{broker="shop"}`,
}}

// startActiveMQ runs a broker with a client in the same JVM.
func startActiveMQ(m machine) *exec.Cmd {
	m.t.Helper()
	return m.java(m.file("Broker.java"))
}
