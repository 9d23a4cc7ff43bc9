package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func main() {
	var cfg config
	flag.DurationVar(&cfg.duration, "duration", 5*time.Minute, "how long to run")
	flag.DurationVar(&cfg.killEvery, "kill-every", 20*time.Second, "how often to kill Redis")
	flag.IntVar(&cfg.callers, "callers", 16, "how many callers make requests at once")
	flag.Uint64Var(&cfg.seed, "seed", uint64(time.Now().UnixNano()), "of what is random; the summary tells it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := program(ctx.Done(), cfg, os.Stdout)
	stop()
	os.Exit(code)
}

// program runs on a stage that takes the place of a test, and gives the exit code.
func program(interrupted <-chan struct{}, cfg config, w io.Writer) (code int) {
	s := &stage{w: w}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(w, "soak: broken off: %v\n", p)
			code = 1
		}
		s.close()
		if s.failed.Load() {
			code = 1
		}
	}()
	if wrong := run(s, interrupted, cfg, w); wrong > 0 {
		return 1
	}
	return 0
}

// stage is as much of testing.TB as the helpers of tests use: they start servers and end them again.
type stage struct {
	testing.TB // nil: what is missing below is not used

	w        io.Writer
	failed   atomic.Bool
	mu       sync.Mutex
	cleanups []func()
}

func (s *stage) Helper()      {}
func (s *stage) Failed() bool { return s.failed.Load() }

func (s *stage) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

func (s *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "soak-*")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *stage) Logf(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

func (s *stage) Error(args ...any) {
	s.failed.Store(true)
	fmt.Fprintln(s.w, args...)
}

func (s *stage) Errorf(format string, args ...any) { s.Error(fmt.Sprintf(format, args...)) }
func (s *stage) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (s *stage) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// close ends what was started, the last first.
func (s *stage) close() {
	for {
		s.mu.Lock()
		n := len(s.cleanups)
		if n == 0 {
			s.mu.Unlock()
			return
		}
		f := s.cleanups[n-1]
		s.cleanups = s.cleanups[:n-1]
		s.mu.Unlock()
		f()
	}
}
