// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// An API server that does not acknowledge an update in this time is left for the next.
const writeTimeout = time.Second

// connect makes a client with connections of its own: client-go shares those of equal configurations.
func connect(base *rest.Config, timeout time.Duration) (*kubernetes.Clientset, error) {
	config := rest.CopyConfig(base)
	config.Dial = dialer().DialContext
	config.QPS = -1
	config.Timeout = timeout
	return kubernetes.NewForConfig(config)
}

// write journals lines "NUMBER MILLISECONDS" of updates, and "lease NAME MILLISECONDS HOLDER" of each change.
func write(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("write", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "credentials")
	servers := flags.String("servers", "", "URLs of the API servers, with commas between them")
	journal := flags.String("journal", "", "file to append to")
	_ = flags.Parse(args)

	var clients []*kubernetes.Clientset
	for _, server := range strings.Split(*servers, ",") {
		config, err := clientcmd.BuildConfigFromFlags(server, *kubeconfig)
		if err != nil {
			return err
		}
		client, err := connect(config, writeTimeout)
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	out, err := os.OpenFile(*journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()

	go leases(ctx, clients, out)
	current := 0
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for number := 1; ctx.Err() == nil; number++ {
		for ctx.Err() == nil && update(ctx, clients[current], number) != nil {
			current = (current + 1) % len(clients)
		}
		fmt.Fprintln(out, number, time.Now().UnixMilli())
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return nil
}

func update(ctx context.Context, client *kubernetes.Clientset, number int) error {
	patch := fmt.Sprintf(`{"data":{"n":"%d"}}`, number)
	maps := client.CoreV1().ConfigMaps(namespace)
	_, err := maps.Patch(ctx, object, types.MergePatchType, []byte(patch), meta.PatchOptions{})
	if errors.IsNotFound(err) {
		_, err = maps.Create(ctx, &core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: object}}, meta.CreateOptions{})
	}
	return err
}

// leases asks each second who leads. It does not hold up the updates when a server hangs.
func leases(ctx context.Context, clients []*kubernetes.Clientset, out *os.File) {
	holders := map[string]string{}
	for current := 0; ctx.Err() == nil; time.Sleep(time.Second) {
		for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
			lease, err := clients[current].CoordinationV1().Leases(namespace).Get(ctx, name, meta.GetOptions{})
			if err != nil && !errors.IsNotFound(err) {
				current = (current + 1) % len(clients)
				break
			}
			if err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != holders[name] {
				holders[name] = *lease.Spec.HolderIdentity
				fmt.Fprintln(out, "lease", name, time.Now().UnixMilli(), holders[name])
			}
		}
	}
}
