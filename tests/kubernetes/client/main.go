// SPDX-License-Identifier: Apache-2.0
// The clients of the tests with a real Kubernetes. All speak to the API servers by client-go, whose timeouts,
// retries and HTTP/2 pings are those of every Kubernetes program:
//
//	client write    updates an object each 200 ms by whichever API server works, and journals what was acknowledged
//	client ask      asks by one address, in every way that clients ask; prints at SIGTERM what it saw, as JSON
//	client kubelet  answers for the kubelet of a node: `kubectl logs -f` of its pod prints a line each 200 ms
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// tick is the time between two updates, between two calls and between two lines of a log.
	tick      = 200 * time.Millisecond
	namespace = "kube-system"
	object    = "counter"
	bulk      = "bulk" // the label of what long reads read
	pod       = "talker"
)

func main() {
	modes := map[string]func(context.Context, []string) error{"write": write, "ask": ask, "kubelet": kubelet}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: client write|ask|kubelet OPTION...")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := modes[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "client %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// each calls f once a period until the context ends. Calls that take longer run at the same time.
func each(ctx context.Context, period time.Duration, f func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			go f()
		}
	}
}
