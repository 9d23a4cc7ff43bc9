package testapp

import (
	"bytes"
	"context"
	"embed"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

//go:embed static
var static embed.FS

// Setup says how an application under test differs from the usual one.
type Setup struct {
	// Mode is "test" if empty.
	Mode string
	// Environ is the environment, on top of what points to Redis.
	Environ []string
	// Config replaces the directory of the configuration. Local is YAML on top
	// of it, as config.local.yaml.
	Config, Local string
	// Redis is the server; nil starts one. Via is a proxy to it, if any.
	Redis *redistest.Server
	Via   *redistest.Proxy
	// Coded declares the probe controller by code instead of by tags.
	Coded bool
	// Modules are further modules.
	Modules []onion.Module
	Options []app.Option
}

// Server is an application under test on a loopback port.
type Server struct {
	App   *app.App
	URL   string
	Redis *redistest.Server
	Log   *Log

	stop func()
}

// Modules are the modules of the application under test.
func Modules(codedProbe bool) []onion.Module {
	declared := onion.Tags(NewProbes())
	if codedProbe {
		declared = onion.Code(coded{NewProbes()})
	}
	return []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), passport.Module(), aratelimit.Module(),
		onion.Basic{ModuleName: "test-vona", ModuleControllers: []onion.Declaration{declared, onion.Code(shapes{})}},
	}
}

// Dir is the directory of this package's configuration.
func Dir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "config")
}

// Build builds the application without serving it.
func Build(t testing.TB, s Setup) (*app.App, *Log) {
	t.Helper()
	dir := s.Config
	if dir == "" {
		dir = Dir()
	}
	if s.Local != "" {
		dir = withLocal(t, dir, s.Local)
	}
	mode := s.Mode
	if mode == "" {
		mode = "test"
	}
	environ := append([]string{"META_MODE=" + mode}, s.Environ...)
	cfg, err := config.Load(config.Options{Dir: dir, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	log := &Log{}
	files, err := fs.Sub(static, "static")
	if err != nil {
		t.Fatal(err)
	}
	options := []app.Option{
		app.WithLogOutput(log),
		app.WithMount("/static/", http.StripPrefix("/static/", http.FileServerFS(files))),
	}
	a, err := app.New(cfg, append(Modules(s.Coded), s.Modules...), append(options, s.Options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return a, log
}

// withLocal copies a directory of configuration and adds config.local.yaml.
func withLocal(t testing.TB, dir, local string) string {
	t.Helper()
	into := t.TempDir()
	if err := os.CopyFS(into, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(into, "config.local.yaml"), []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	return into
}

// Start builds the application and serves it on a free loopback port, with a
// real redis-server, until the test ends.
func Start(t testing.TB, s Setup) *Server {
	t.Helper()
	if s.Redis == nil {
		s.Redis = redistest.Start(t)
	}
	addr := s.Redis.Addr()
	if s.Via != nil {
		addr = s.Via.Addr()
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Environ = append([]string{"REDIS_DEFAULT_HOST=" + host, "REDIS_DEFAULT_PORT=" + port}, s.Environ...)
	a, log := Build(t, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served, listening := make(chan error, 1), make(chan struct{})
	go func() { served <- a.ServeOn(ctx, l, func(string) { close(listening) }) }()
	select {
	case <-listening:
	case err := <-served:
		t.Fatalf("the application ended at once: %v", err)
	}
	server := &Server{App: a, URL: "http://" + l.Addr().String(), Redis: s.Redis, Log: log}
	var once sync.Once
	server.stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-served:
				if err != nil {
					t.Errorf("the application did not end well: %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Error("the application did not end")
			}
		})
	}
	t.Cleanup(server.stop)
	return server
}

// Stop shuts the application down and waits for its end.
func (s *Server) Stop() { s.stop() }

// Log collects what the application logs.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p) //nolint:wrapcheck // a buffer does not fail
}

// String is all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count counts the lines that contain all of the texts.
func (l *Log) Count(texts ...string) int {
	n := 0
	for line := range strings.Lines(l.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			n++
		}
	}
	return n
}
