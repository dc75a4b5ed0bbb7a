// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"time"
)

// kubelet serves what an API server asks a kubelet for `kubectl logs -f`. Without --kubelet-certificate-authority,
// as kubeadm has it, the API server does not verify this certificate.
func kubelet(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kubelet", flag.ExitOnError)
	listen := flags.String("listen", "", "address")
	certificate := flags.String("cert", "", "certificate")
	key := flags.String("key", "", "its key")
	_ = flags.Parse(args)

	server := &http.Server{Addr: *listen, Handler: http.HandlerFunc(talk)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServeTLS(*certificate, *key); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func talk(w http.ResponseWriter, r *http.Request) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		if _, err := fmt.Fprintln(w, time.Now().UnixMilli()); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
