package ainstance

import (
	"path/filepath"
	"testing"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/instance/storetest"
	"github.com/vonago/vonago/internal/pgtest"
)

// backend makes empty databases of one kind, each as the configuration of its clients.
type backend struct {
	name  string
	fresh func(t *testing.T) Config
}

// backends are SQLite and a PostgreSQL server of the test's own.
func backends(t *testing.T) []backend {
	t.Helper()
	server := pgtest.Start(t)
	return []backend{
		{"sqlite", sqliteConfig},
		{"postgres", func(*testing.T) Config { return postgresConfig(server, server.Database()) }},
	}
}

// patience is a timeoutMs for tests that are not about time.
const patience = 60_000

func sqliteConfig(t *testing.T) Config {
	t.Helper()
	cfg := defaultConfig()
	cfg.Clients.Default.TimeoutMs = patience
	cfg.Clients.Default.Client = SQLite
	cfg.Clients.Default.Connection.Filename = filepath.Join(t.TempDir(), "made on demand", "a?b#c%20.db")
	return cfg
}

func postgresConfig(server *pgtest.Server, database string) Config {
	cfg := defaultConfig()
	c := &cfg.Clients.Default
	c.Client = Postgres
	c.TimeoutMs = patience
	c.Connection = Connection{Port: server.Port(), User: server.User(), Database: database, SSLMode: "disable"}
	return cfg
}

// connect opens a store as another process would.
func connect(t *testing.T, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStores(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Connect {
				cfg := b.fresh(t)
				return func(t *testing.T) instance.Store { return connect(t, cfg) }
			})
			storetest.RunEditor(t, func(t *testing.T) storetest.ConnectEditor {
				cfg := b.fresh(t)
				return func(t *testing.T) instance.Editor { return connect(t, cfg) }
			})
		})
	}
}
