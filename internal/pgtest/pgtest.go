//go:build unix

// Package pgtest gives tests a real PostgreSQL server of their own.
//
// Every server is a child process on a free loopback port with a data directory of its own, tuned to forget: nothing is
// synced. It ends with the test that started it, and only processes started here are ever signalled. initdb and postgres
// refuse to run as root; then they run as an unprivileged user (see users). A missing server fails the test: a skipped test
// proves nothing.
package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx", with which the helper looks at its server
)

// startWait bounds one start, from the fork to the first answer, and stopWait an orderly stop.
const (
	startWait = 30 * time.Second
	stopWait  = 20 * time.Second
)

// superuser is the user of the server; it needs no password from the loopback.
const superuser = "postgres"

// Server is one PostgreSQL server. Its methods are for the goroutine of the test and fail that test when they cannot do their
// work; Addr, Port and URL may be called from any goroutine.
type Server struct {
	t    testing.TB
	bin  string // directory of the programs
	dir  string
	port int
	cred *syscall.Credential // nil: as the test's own user

	cmd       *exec.Cmd // nil while the server is down
	exited    chan struct{}
	databases atomic.Int64
}

// Start makes a data directory and starts a server in it; it returns when the server answers. The server ends in t.Cleanup.
func Start(t testing.TB) *Server {
	t.Helper()
	bin, err := findBin()
	if err != nil {
		t.Fatal("pgtest: " + err.Error())
	}
	s := &Server{t: t, bin: bin}
	if s.cred, err = credential(); err != nil {
		t.Fatal("pgtest: " + err.Error())
	}
	t.Cleanup(s.close)
	if err := s.initdb(); err != nil {
		t.Fatalf("pgtest: initdb: %v", err)
	}
	// A port found free can be taken before the server binds it: then try another.
	const attempts = 10
	for range attempts {
		if s.port, err = freePort(); err != nil {
			t.Fatalf("pgtest: %v", err)
		}
		if err = s.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		t.Fatalf("pgtest: start postgres: %v", err)
	}
	return s
}

// Addr is the address as host:port. It stays the same over Stop and Restart.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is the TCP port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// User is a user that may do everything, without a password.
func (s *Server) User() string { return superuser }

// URL is the address of a database as drivers take it.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", superuser, s.Addr(), database)
}

// Database makes a new, empty database and gives its name.
func (s *Server) Database() string {
	s.t.Helper()
	name := fmt.Sprintf("test_%d", s.databases.Add(1))
	s.Exec("postgres", "CREATE DATABASE "+name)
	return name
}

// Exec runs a statement in a database.
func (s *Server) Exec(database, statement string) {
	s.t.Helper()
	db := s.open(database)
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		s.t.Fatalf("pgtest: %s: %v", statement, err)
	}
}

// Count gives the number that a query answers with.
func (s *Server) Count(database, query string) int {
	s.t.Helper()
	db := s.open(database)
	defer db.Close()
	var n int
	if err := db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		s.t.Fatalf("pgtest: %s: %v", query, err)
	}
	return n
}

func (s *Server) open(database string) *sql.DB {
	s.t.Helper()
	db, err := sql.Open("pgx", s.URL(database))
	if err != nil {
		s.t.Fatalf("pgtest: open %s: %v", database, err)
	}
	return db
}

// Stop ends the server at once: its connections are reset, later ones refused. What was committed is there after a Restart.
// Stopping a server that is down does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.stop(syscall.SIGQUIT); err != nil {
		s.t.Errorf("pgtest: %v", err)
	}
}

// Restart starts the server again on the same port with the same data, after stopping it if it still runs.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.start(); err != nil {
		s.t.Fatalf("pgtest: restart postgres: %v", err)
	}
}

// Log is what the server has logged so far.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) close() {
	s.Stop()
	if s.t.Failed() && s.dir != "" {
		s.t.Logf("pgtest: log of the server on %s:\n%s", s.Addr(), tail(s.Log()))
	}
	if s.dir != "" {
		if err := os.RemoveAll(s.dir); err != nil {
			s.t.Errorf("pgtest: remove the data: %v", err)
		}
	}
}

// tail keeps the end of a long text.
func tail(text string) string {
	const most = 8 << 10
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

var errPortTaken = errors.New("the port was taken meanwhile")

// freePort finds a port below those that the kernel gives to the client ends of connections: one of these could take it while
// the server is down.
func freePort() (int, error) {
	const first, last = 22000, 24999
	var lc net.ListenConfig
	var err error
	for range 100 {
		port := first + rand.IntN(last-first+1) //nolint:gosec // not a secret
		var l net.Listener
		if l, err = lc.Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port in %d..%d: %w", first, last, err)
}

// start runs the server once and waits until it answers.
func (s *Server) start() error {
	cmd, closeLog, err := s.command("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200", "-c", "logging_collector=off")
	if err != nil {
		return err
	}
	defer closeLog()
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited
	return s.awaitReady()
}

// awaitReady polls until the server answers, or ends, or startWait is over.
func (s *Server) awaitReady() error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// The port may belong to somebody else's server: only ours has our data directory.
		var dir string
		err := db.QueryRowContext(ctx, "SHOW data_directory").Scan(&dir)
		if err == nil && dir == s.data() {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.exited:
			s.cmd = nil
			if log := s.Log(); strings.Contains(log, "Address already in use") {
				return errPortTaken
			}
			return fmt.Errorf("it ended at once; its log:\n%s", tail(s.Log()))
		case <-ctx.Done():
			return fmt.Errorf("it was not ready within %v; its log:\n%s\n%w", startWait, tail(s.Log()), errors.Join(err, s.stop(syscall.SIGQUIT)))
		}
	}
}

func (s *Server) stop(sig syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	cmd := s.cmd
	s.cmd = nil
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%v for postgres process %d: %w", sig, cmd.Process.Pid, err)
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopWait):
		_ = cmd.Process.Kill()
		<-s.exited
		return fmt.Errorf("postgres process %d did not end within %v", cmd.Process.Pid, stopWait)
	}
}
