//go:build unix

// Package redistest gives tests a real redis-server of their own, and a TCP proxy (see Proxy) with which they can break the
// way to it.
//
// Every server is a child process on a free loopback port with nothing persisted. It ends with the test that started it, and
// only processes started here are ever signalled. A missing redis-server fails the test: a skipped test proves nothing.
package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startWait bounds one start, from the fork to the first PONG. It takes a few milliseconds on an idle machine.
const startWait = 20 * time.Second

const missing = "redis-server is not on PATH, and this test needs a real one. Install it (Debian or Ubuntu: " +
	"apt-get install redis-server; Fedora: dnf install redis; macOS: brew install redis), or run `make test`, " +
	"which installs it where it may."

// Option changes how Start starts a server.
type Option func(*Server)

// Args adds command line arguments of redis-server, for example Args("--maxmemory", "1mb", "--maxmemory-policy", "noeviction").
// They come after the package's own, so they win. For a password use Password, or the server is never found ready.
func Args(args ...string) Option {
	return func(s *Server) { s.args = append(s.args, args...) }
}

// Password makes the server require a password of its default user, as requirepass does. Client knows it.
func Password(password string) Option {
	return func(s *Server) { s.password = password }
}

// Server is one redis-server process. Its methods are for the goroutine of the test and fail that test when they cannot do
// their work; Addr and Port may be called from any goroutine.
type Server struct {
	t        testing.TB
	bin      string
	dir      string
	port     int
	args     []string
	password string
	sentinel string // what a sentinel is told to watch; empty for a server
	client   *redis.Client

	cmd    *exec.Cmd // nil while the server is down
	exited *os.File  // reads EOF once the process is gone, so that no goroutine has to wait for it
}

// Start starts a redis-server for the test and returns when it answers PING. The server ends in t.Cleanup.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redistest: " + missing)
	}
	s := &Server{t: t, bin: bin, dir: t.TempDir()}
	for _, opt := range opts {
		opt(s)
	}
	t.Cleanup(s.close)

	// A port found free can be taken before the server binds it, by a test of another package for one: then try another.
	const attempts = 10
	for range attempts {
		if s.port, err = freePort(); err != nil {
			t.Fatalf("redistest: %v", err)
		}
		if err = s.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		t.Fatalf("redistest: start redis-server: %v", err)
	}
	return s
}

// Addr returns the address as host:port. It stays the same over Kill and Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port returns the TCP port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// Pid returns the id of the running process, or 0 while the server is down.
func (s *Server) Pid() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Client returns a client of the server, for looking at it and for preparing it. It is made on the first call, is the same
// one every time and is closed with the server. The code under test should make its own.
func (s *Server) Client() *redis.Client {
	if s.client == nil {
		s.client = redis.NewClient(s.options())
	}
	return s.client
}

// Pause stops the process with SIGSTOP: the kernel still accepts connections and bytes for it, but nothing is answered.
func (s *Server) Pause() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on with SIGCONT. What was sent meanwhile is executed then.
func (s *Server) Resume() { s.t.Helper(); s.signal(syscall.SIGCONT) }

// Kill ends the process with SIGKILL and returns when it is gone: its connections are reset, later ones are refused, and its
// data and scripts are lost. Killing a server that is down does nothing.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.kill(); err != nil {
		s.t.Errorf("redistest: %v", err)
	}
}

// Restart starts the server again on the same port, empty, after killing it if it still runs. It returns when the new process
// answers PING.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.start(); err != nil {
		s.t.Fatalf("redistest: restart redis-server: %v", err)
	}
}

// Log returns what the server has logged so far, over all its starts.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "redis.log") }

func (s *Server) options() *redis.Options {
	return &redis.Options{Addr: s.Addr(), Password: s.password, ContextTimeoutEnabled: true, DialerRetries: 1}
}

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if s.cmd == nil {
		s.t.Fatalf("redistest: %v for a server that is down", sig)
	}
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("redistest: %v for process %d: %v", sig, s.cmd.Process.Pid, err)
	}
}

func (s *Server) close() {
	if s.client != nil {
		_ = s.client.Close() // the connections die with the server anyway
	}
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("redistest: log of the server on %s:\n%s", s.Addr(), s.Log())
	}
}

var errPortTaken = errors.New("the port was taken meanwhile")

// start runs the process once and waits until it answers.
func (s *Server) start() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer log.Close() // the child has a descriptor of its own
	exited, held, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the pipe that tells of the exit: %w", err)
	}

	args := []string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}
	if s.password != "" {
		args = append(args, "--requirepass", s.password)
	}
	args = append(args, s.args...)
	if s.sentinel != "" {
		if args, err = s.sentinelArgs(); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(context.Background(), s.bin, args...) //nolint:gosec // of the test's own choice
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{held} // never written: it closes when the process ends
	cmd.SysProcAttr = procAttr()
	err = cmd.Start()
	_ = held.Close()
	if err != nil {
		_ = exited.Close()
		return err
	}
	s.cmd, s.exited = cmd, exited
	return s.awaitReady()
}

// awaitReady polls until this very process answers PING, or ends, or startWait is over.
func (s *Server) awaitReady() error {
	opts := s.options()
	opts.MaxRetries = -1
	opts.DialTimeout = time.Second
	probe := redis.NewClient(opts)
	defer probe.Close()

	last := errors.New("it never answered")
	dialer := net.Dialer{Timeout: time.Second}
	for deadline := time.Now().Add(startWait); time.Now().Before(deadline); {
		if s.gone(2 * time.Millisecond) {
			return s.startFailed()
		}
		// go-redis logs every dial that fails, so the first ones are made without it.
		conn, err := dialer.DialContext(context.Background(), "tcp", s.Addr())
		if err != nil {
			last = err
			continue
		}
		_ = conn.Close()
		// The port may belong to somebody else's server while ours is about to fail: only ours has our process id.
		info, err := probe.Info(context.Background(), "server").Result()
		if err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.Pid())) {
			return probe.Ping(context.Background()).Err()
		}
		if err != nil {
			last = err
		}
	}
	_ = s.kill()
	return fmt.Errorf("it was not ready within %v; its log:\n%s\n%w", startWait, s.Log(), last)
}

func (s *Server) startFailed() error {
	if err := s.kill(); err != nil {
		return err
	}
	if log := s.Log(); strings.Contains(log, "Address already in use") {
		return errPortTaken
	}
	return fmt.Errorf("it ended at once; its log:\n%s", s.Log())
}

// gone reports whether the process has ended, waiting for that at most the given time.
func (s *Server) gone(wait time.Duration) bool {
	if err := s.exited.SetReadDeadline(time.Now().Add(wait)); err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
	_, err := s.exited.Read(make([]byte, 1))
	return !errors.Is(err, os.ErrDeadlineExceeded)
}

func (s *Server) kill() error {
	if s.cmd == nil {
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	defer s.exited.Close()
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill redis-server process %d: %w", cmd.Process.Pid, err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("wait for redis-server process %d: %w", cmd.Process.Pid, err)
	}
	return nil
}
