// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// gap is a pause of a watch: the updates that it saw before and after, and when it saw the latter.
type gap struct {
	before, after int
	end           time.Time
}

// What is longer than this is kept as a gap.
const gapFloor = 2 * tick

// watch is a store of client-go's reflector that keeps the gaps only.
type watch struct {
	mutex sync.Mutex
	last  int
	seen  time.Time
	gaps  []gap
	first chan struct{}
}

func (w *watch) take(o any) error {
	configMap, ok := o.(*core.ConfigMap)
	if !ok {
		return fmt.Errorf("a watch got %T", o)
	}
	number, err := strconv.Atoi(configMap.Data["n"])
	if err != nil {
		return nil // not written yet
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := time.Now()
	if w.last == 0 {
		close(w.first)
	} else if number > w.last && now.Sub(w.seen) > gapFloor {
		w.gaps = append(w.gaps, gap{w.last, number, now})
	}
	if number > w.last {
		w.last, w.seen = number, now
	}
	return nil
}

func (w *watch) Add(o any) error    { return w.take(o) }
func (w *watch) Update(o any) error { return w.take(o) }
func (w *watch) Delete(any) error   { return nil }
func (w *watch) Resync() error      { return nil }

func (w *watch) Replace(objects []any, _ string) error {
	for _, o := range objects {
		if err := w.take(o); err != nil {
			return err
		}
	}
	return nil
}

type watches []*watch

// watchAll returns when each watch has seen the object once.
func watchAll(ctx context.Context, config *rest.Config, count int) (watches, error) {
	var all watches
	for range count {
		client, err := connect(config, 0)
		if err != nil {
			return nil, err
		}
		w := &watch{first: make(chan struct{})}
		source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", namespace,
			fields.OneTermEqualSelector("metadata.name", object))
		go cache.NewReflectorWithOptions(source, &core.ConfigMap{}, w, cache.ReflectorOptions{}).RunWithContext(ctx)
		all = append(all, w)
	}
	for _, w := range all {
		select {
		case <-w.first:
		case <-ctx.Done():
			return nil, fmt.Errorf("ended before each of %d watches had seen the object", count)
		}
	}
	return all, nil
}

type watchFigures struct {
	Count    int   `json:"count"`
	BlindMS  int64 `json:"blind_ms"`  // the longest time from an update to when a watch saw it or a later one
	Gapped   int   `json:"gapped"`    // watches with a gap of more than a second
	MedianMS int64 `json:"median_ms"` // of each watch's longest
}

// judge tells how long the watches were blind. Updates that were not made do not count:
// the time runs from when the first unseen one was acknowledged.
func (all watches) judge(written map[int]time.Time) watchFigures {
	figures := watchFigures{Count: len(all)}
	var longest []int64
	now := time.Now()
	for _, w := range all {
		w.mutex.Lock()
		blind := int64(0)
		for _, g := range append(w.gaps, gap{w.last, w.last, now}) {
			if at, ok := written[g.before+1]; ok {
				blind = max(blind, g.end.Sub(at).Milliseconds())
			}
		}
		w.mutex.Unlock()
		longest = append(longest, blind)
		figures.BlindMS = max(figures.BlindMS, blind)
		if blind > 1000 {
			figures.Gapped++
		}
	}
	if len(longest) > 0 {
		slices.Sort(longest)
		figures.MedianMS = longest[len(longest)/2]
	}
	return figures
}

func readJournal(name string) (map[int]time.Time, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	written := map[int]time.Time{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var number int
		var ms int64
		if n, _ := fmt.Sscan(lines.Text(), &number, &ms); n == 2 {
			written[number] = time.UnixMilli(ms)
		}
	}
	return written, lines.Err()
}

// stream is one `kubectl logs -f`, opened again when it breaks.
type stream struct {
	mutex   sync.Mutex
	seen    time.Time
	longest time.Duration
	breaks  int
	first   chan struct{}
}

type streams []*stream

// followAll returns when each stream has had its first line.
func followAll(ctx context.Context, config *rest.Config, count int) (streams, error) {
	var all streams
	for range count {
		client, err := connect(config, 0)
		if err != nil {
			return nil, err
		}
		s := &stream{first: make(chan struct{})}
		go s.follow(ctx, client)
		all = append(all, s)
	}
	for _, s := range all {
		select {
		case <-s.first:
		case <-ctx.Done():
			return nil, fmt.Errorf("ended before each of %d streams had its first line", count)
		}
	}
	return all, nil
}

func (s *stream) follow(ctx context.Context, client *kubernetes.Clientset) {
	for ctx.Err() == nil {
		log, err := client.CoreV1().Pods(namespace).GetLogs(pod, &core.PodLogOptions{Follow: true}).Stream(ctx)
		if err == nil {
			s.read(log)
			_ = log.Close()
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

func (s *stream) read(log io.Reader) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 64); err != nil {
			continue
		}
		s.mutex.Lock()
		now := time.Now()
		if s.seen.IsZero() {
			close(s.first)
		} else {
			s.longest = max(s.longest, now.Sub(s.seen))
		}
		s.seen = now
		s.mutex.Unlock()
	}
	s.mutex.Lock()
	s.breaks++
	s.mutex.Unlock()
}

type streamFigures struct {
	Count    int   `json:"count"`
	Breaks   int   `json:"breaks"`
	SilentMS int64 `json:"silent_ms"` // the longest time without a line
}

func (all streams) judge() streamFigures {
	figures := streamFigures{Count: len(all)}
	for _, s := range all {
		s.mutex.Lock()
		figures.Breaks += s.breaks
		figures.SilentMS = max(figures.SilentMS, max(s.longest, time.Since(s.seen)).Milliseconds())
		s.mutex.Unlock()
	}
	return figures
}

func sleep(ctx context.Context, period time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(period):
	}
}

// drain reads to the end, and no more than rate bytes a second if that is not 0.
func drain(ctx context.Context, body io.Reader, rate int) error {
	if rate == 0 {
		_, err := io.Copy(io.Discard, body)
		return err
	}
	for {
		n, err := io.CopyN(io.Discard, body, int64(rate/10))
		if err == io.EOF || n == 0 && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
		sleep(ctx, 100*time.Millisecond)
	}
}
