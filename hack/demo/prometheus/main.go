// Command prometheus queries a Prometheus server over HTTP, for the demo.
//
//	prometheus URL targets N     waits until the job jmx has exactly N targets and all are up, and lists them
//	prometheus URL query EXPR    prints the samples of an expression, one per line
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want URL targets N, or URL query EXPR")
	}
	base, argument := args[0], args[2]
	switch args[1] {
	case "targets":
		n, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return waitForTargets(ctx, base, n)
	case "query":
		return query(ctx, base, argument)
	}
	return fmt.Errorf("no command is called %q", args[1])
}

type target struct {
	Labels    map[string]string `json:"labels"`
	ScrapeURL string            `json:"scrapeUrl"`
	Health    string            `json:"health"`
	LastError string            `json:"lastError"`
}

// waitForTargets polls every half second: Prometheus has no watch for its targets.
func waitForTargets(ctx context.Context, base string, n int) error {
	again := time.NewTicker(500 * time.Millisecond)
	defer again.Stop()
	for {
		var answer struct {
			ActiveTargets []target `json:"activeTargets"`
		}
		if err := get(ctx, base+"/api/v1/targets?state=active", &answer); err != nil {
			return err
		}
		targets := slices.DeleteFunc(answer.ActiveTargets, func(t target) bool { return t.Labels["job"] != "jmx" })
		slices.SortFunc(targets, func(a, b target) int { return cmp.Compare(a.Labels["pod"], b.Labels["pod"]) })
		up := !slices.ContainsFunc(targets, func(t target) bool { return t.Health != "up" })
		if up && len(targets) == n {
			show(targets)
			return nil
		}
		select {
		case <-ctx.Done():
			show(targets)
			return fmt.Errorf("want %d targets, all up", n)
		case <-again.C:
		}
	}
}

func show(targets []target) {
	for _, t := range targets {
		fmt.Printf("%-8s %-36s %s %s\n", t.Health, t.Labels["pod"], t.ScrapeURL, t.LastError)
	}
}

func query(ctx context.Context, base, expression string) error {
	var answer struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Value  [2]any            `json:"value"`
		} `json:"result"`
	}
	if err := get(ctx, base+"/api/v1/query?query="+url.QueryEscape(expression), &answer); err != nil {
		return err
	}
	if len(answer.Result) == 0 {
		return fmt.Errorf("%s has no samples", expression)
	}
	lines := make([]string, 0, len(answer.Result))
	for _, sample := range answer.Result {
		lines = append(lines, fmt.Sprintf("%-36s %v", sample.Metric["pod"], sample.Value[1]))
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	return nil
}

// get decodes the data of a response of Prometheus' API.
func get(ctx context.Context, address string, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return err
	}
	answer := struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}{}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("%s: %s: %w", address, response.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", address, answer.Error)
	}
	return json.Unmarshal(answer.Data, data)
}
