// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A call that has no answer in this time has failed.
const callTimeout = 5 * time.Second

// tally counts calls of one kind.
type tally struct {
	mutex   sync.Mutex
	OK      int      `json:"ok"`
	Failed  []int64  `json:"failed"` // when each call that failed began
	MaxMS   int64    `json:"max_ms"`
	Reasons []string `json:"reasons,omitempty"` // of the first
}

// count records a call that began then. One that the end of the test cut short does not count.
func (t *tally) count(ctx context.Context, began time.Time, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.MaxMS = max(t.MaxMS, time.Since(began).Milliseconds())
	if err == nil {
		t.OK++
		return
	}
	t.Failed = append(t.Failed, began.UnixMilli())
	if len(t.Reasons) < 5 {
		t.Reasons = append(t.Reasons, fmt.Sprintf("%d: %v", began.UnixMilli(), err))
	}
}

func dialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
}

// asker is the clients of one address.
type asker struct {
	config  *rest.Config
	server  string
	kubectl []string
	fresh   tally // each call on a connection of its own
	kept    tally // all calls on one connection
	long    tally // answers that take some seconds
	command tally // kubectl
}

// ask prints "ready" once every watch has seen the object, and figures at the end.
func ask(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("ask", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "credentials")
	server := flags.String("server", "", "URL")
	journal := flags.String("journal", "", "journal of `client write`")
	watches := flags.Int("watches", 10, "how many watches, each on a connection of its own")
	streams := flags.Int("streams", 0, "how many logs to follow")
	reads := flags.Duration("long", 0, "time between two long reads; 0: none")
	kubectl := flags.String("kubectl", "", "kubectl, to be run once after the other")
	_ = flags.Parse(args)

	config, err := clientcmd.BuildConfigFromFlags(*server, *kubeconfig)
	if err != nil {
		return err
	}
	a := &asker{config: config, server: *server}
	if *kubectl != "" {
		a.kubectl = []string{*kubectl, "--kubeconfig", *kubeconfig, "--server", *server,
			"--request-timeout", callTimeout.String(), "--namespace", namespace, "get", "configmap", object}
	}
	watched, err := watchAll(ctx, config, *watches)
	if err != nil {
		return err
	}
	followed, err := followAll(ctx, config, *streams)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if err := a.run(ctx, *reads); err != nil {
		return err
	}
	written, err := readJournal(*journal)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"fresh": &a.fresh, "kept": &a.kept, "long": &a.long, "kubectl": &a.command,
		"watches": watched.judge(written), "logs": followed.judge(),
	})
}

func (a *asker) run(ctx context.Context, reads time.Duration) error {
	kept, err := connect(a.config, callTimeout)
	if err != nil {
		return err
	}
	security, err := rest.TLSConfigFor(a.config)
	if err != nil {
		return err
	}
	go each(ctx, tick, func() {
		began := time.Now()
		a.kept.count(ctx, began, kept.CoreV1().RESTClient().Get().AbsPath(objectPath).Do(ctx).Error())
	})
	go each(ctx, tick, func() {
		began := time.Now()
		transport := &http.Transport{TLSClientConfig: security.Clone(), DialContext: dialer().DialContext, DisableKeepAlives: true}
		a.fresh.count(ctx, began, a.get(ctx, transport, objectPath, callTimeout, 0))
	})
	if reads > 0 {
		go each(ctx, reads, func() {
			began := time.Now()
			transport := &http.Transport{TLSClientConfig: security.Clone(), DialContext: narrow, DisableKeepAlives: true}
			a.long.count(ctx, began, a.get(ctx, transport, bulkPath, time.Minute, bulkRate))
		})
	}
	for a.kubectl != nil && ctx.Err() == nil {
		began := time.Now()
		said, err := exec.CommandContext(ctx, a.kubectl[0], a.kubectl[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
		a.command.count(ctx, began, err)
		sleep(ctx, time.Second)
	}
	<-ctx.Done()
	return nil
}

const (
	objectPath = "/api/v1/namespaces/" + namespace + "/configmaps/" + object
	bulkPath   = "/api/v1/namespaces/" + namespace + "/configmaps?labelSelector=" + bulk
	// 2.5 MB at this rate take 5 s.
	bulkRate = 512 << 10
)

// narrow connects with a buffer so small that a slow reader slows the server down.
func narrow(ctx context.Context, network, address string) (net.Conn, error) {
	small := dialer()
	small.Control = func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 64<<10)
		})
	}
	return small.DialContext(ctx, network, address)
}

// get reads a path whole, and no more than rate bytes a second if that is not 0.
func (a *asker) get(ctx context.Context, transport *http.Transport, path string, timeout time.Duration, rate int) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.server+path, nil)
	if err != nil {
		return err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := drain(ctx, answer.Body, rate); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", answer.StatusCode)
	}
	return nil
}
