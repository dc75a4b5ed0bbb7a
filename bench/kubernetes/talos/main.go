// SPDX-License-Identifier: Apache-2.0
// Talos's balancer in front of API servers, with the defaults of its library: talos PORT UPSTREAM...
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/siderolabs/go-loadbalancer/controlplane"
	"go.uber.org/zap"
)

func run(port string, upstreams []string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	balancer, err := controlplane.NewLoadBalancer("127.0.0.1", number, zap.NewNop())
	if err != nil {
		return err
	}
	lists := make(chan []string, 1)
	lists <- upstreams
	if err := balancer.Start(lists); err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	return balancer.Shutdown()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: talos PORT UPSTREAM...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "talos:", err)
		os.Exit(1)
	}
}
