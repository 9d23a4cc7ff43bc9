package ainstance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/internal/pgtest"
)

// Processes that start at once on an empty database all find its tables.
func TestMigrateAtOnce(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			cfg := b.fresh(t)
			prepareAtOnce(t, cfg, 8)
			s := connect(t, cfg)
			var applied int
			if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+versionTable+" WHERE version_id = 1").Scan(&applied); err != nil || applied != 1 {
				t.Errorf("the first version was applied %d times, %v", applied, err)
			}
		})
	}
}

// prepareAtOnce lets so many stores, as of so many processes, make the tables.
func prepareAtOnce(t *testing.T, cfg Config, stores int) {
	t.Helper()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range stores {
		s := connect(t, cfg)
		wg.Go(func() {
			<-start
			if err := s.Prepare(context.Background()); err != nil {
				t.Errorf("Prepare: %v", err)
			}
		})
	}
	close(start)
	wg.Wait()
}

// takeTurn takes the turn of another process, until it is rolled back or the test ends.
func takeTurn(t *testing.T, s *Store) *sql.Tx {
	t.Helper()
	turns, err := s.schema.turns()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = turns.Close() })
	turn, err := s.schema.takeTurn(t.Context(), turns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = turn.Rollback() })
	return turn
}

// Nothing of the schema is touched, not even goose's own table, while another process has its turn.
func TestMigrateWaitsForItsTurn(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			cfg := b.fresh(t)
			other := connect(t, cfg)
			turn := takeTurn(t, other)
			cfg.Clients.Default.TimeoutMs = 200
			s := connect(t, cfg)
			if err := s.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "timeoutMs") {
				t.Errorf("Prepare while another has its turn: %v", err)
			}
			var n int
			if err := other.db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+versionTable).Scan(&n); err == nil {
				t.Error("the table of versions was made all the same")
			}
			if err := turn.Rollback(); err != nil {
				t.Errorf("end the turn: %v", err)
			}
			if err := other.Prepare(t.Context()); err != nil {
				t.Errorf("Prepare afterwards: %v", err)
			}
		})
	}
}

// TestMigrateWithFewConnections: many processes start at once behind a pooler that has few connections. Who waits for its turn
// must not hold what the one whose turn it is needs; and no server ends a turn because it is idle meanwhile.
func TestMigrateWithFewConnections(t *testing.T) {
	server := pgtest.Start(t)
	database := server.Database()
	server.Exec(database, "ALTER DATABASE "+database+" SET idle_in_transaction_session_timeout = '1min'")
	cfg := postgresConfig(server, database)
	cfg.Clients.Default.Connection.Port = pooler(t, server.Addr(), 3)
	cfg.Clients.Default.TimeoutMs = 10_000
	prepareAtOnce(t, cfg, 8)

	turn := takeTurn(t, connect(t, cfg))
	var patience string
	if err := turn.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&patience); err != nil || patience != "0" {
		t.Errorf("a turn may be idle for %q, %v, want without end", patience, err)
	}
}

// pooler lets so many connections through at a time; others wait.
func pooler(t *testing.T, to string, connections int) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	free := make(chan struct{}, connections)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				free <- struct{}{}
				defer func() { <-free }()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				go func() {
					_, _ = io.Copy(server, client)
					_ = server.Close()
				}()
				_, _ = io.Copy(client, server)
			}()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// The first tenant's id is 2: 1 is the default instance's.
func TestFirstIDs(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			s := connect(t, b.fresh(t))
			for name, want := range map[string]int64{"": 1} {
				first := register(t, s, "acme", 0)
				if got := register(t, s, name, 0); got.ID != want || first.ID != 2 {
					t.Errorf("the ids are %d for %q and %d for acme, want %d and 2", got.ID, name, first.ID, want)
				}
			}
			other := connect(t, b.fresh(t))
			register(t, other, "acme", 1) // the configuration said so
			if got := register(t, other, "", 0); got.ID == 1 {
				t.Error("two instances have the id 1")
			}
		})
	}
}

// What is marked as deleted, as Vona does, is no record; registered again with its id it comes back.
func TestDeletedRecords(t *testing.T) {
	for _, b := range backends(t) {
		t.Run(b.name, func(t *testing.T) {
			s := connect(t, b.fresh(t))
			register(t, s, "acme", 7)
			beta := register(t, s, "beta", 0)
			exec := func(statement string) {
				if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			exec(`UPDATE "aInstance" SET "deleted" = true`)
			if _, err := s.Find(t.Context(), "acme"); !errors.Is(err, instance.ErrNotFound) {
				t.Errorf("Find of a deleted record: %v", err)
			}
			if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("List = %v, %v", list, err)
			}
			if _, err := s.Update(t.Context(), "acme", instance.Patch{Title: new("x")}, time.Now()); !errors.Is(err, instance.ErrNotFound) {
				t.Errorf("Update of a deleted record: %v", err)
			}
			if _, err := s.Register(t.Context(), instance.Record{ID: 7, Name: "gamma"}); !errors.Is(err, instance.ErrIDTaken) {
				t.Errorf("Register with the id of a deleted record: %v, want ErrIDTaken", err)
			}
			if rec := register(t, s, "acme", 7); rec.ID != 7 {
				t.Errorf("acme came back with the id %d", rec.ID)
			}
			if rec := register(t, s, "beta", 0); rec.ID == beta.ID || rec.ID == 7 {
				t.Errorf("the id of a deleted record was given out again: %d", rec.ID)
			}
		})
	}
}

// A table that Vona made is taken over: its columns may be null where ours are not.
func TestVonaTable(t *testing.T) {
	server := pgtest.Start(t)
	database := server.Database()
	server.Exec(database, `CREATE TABLE "aInstance" ("id" bigserial PRIMARY KEY, "createdAt" timestamptz DEFAULT CURRENT_TIMESTAMP,
		"updatedAt" timestamptz DEFAULT CURRENT_TIMESTAMP, "deleted" boolean DEFAULT false, "disabled" boolean DEFAULT false,
		"isolate" boolean DEFAULT false, "name" varchar(255), "title" varchar(255), "config" text)`)
	server.Exec(database, `INSERT INTO "aInstance" ("name", "config", "disabled") VALUES ('', '{}', NULL), ('acme', NULL, true)`)
	s := connect(t, postgresConfig(server, database))
	rec, err := s.Find(t.Context(), "")
	if err != nil || rec.ID != 1 || string(rec.Config) != "{}" || rec.Disabled {
		t.Errorf("Find = %+v, %v", rec, err)
	}
	if rec := register(t, s, "acme", 0); rec.ID != 2 || !rec.Disabled || rec.Title != "" {
		t.Errorf("Register found %+v", rec)
	}
	if rec := register(t, s, "beta", 0); rec.ID < 3 {
		t.Errorf("the next id is %d, want 3 or more", rec.ID)
	}
}

// The database may be away at first, and come back.
func TestDatabaseAway(t *testing.T) {
	server := pgtest.Start(t)
	cfg := postgresConfig(server, server.Database())
	s := connect(t, cfg)
	server.Stop()
	began := time.Now()
	_, err := s.Find(t.Context(), "acme")
	if err == nil || errors.Is(err, instance.ErrNotFound) {
		t.Errorf("Find without a server: %v", err)
	}
	if took := time.Since(began); took > patience*time.Millisecond/2 {
		t.Errorf("it took %v to say so", took)
	}
	server.Restart()
	register(t, s, "acme", 0)
	server.Restart() // connections that were good are not any more
	if rec, err := s.Find(t.Context(), "acme"); err != nil || rec.Name != "acme" {
		t.Errorf("Find after a restart: %v, %v", rec, err)
	}
}

const childEnv = "VONAGO_TEST_REGISTER"

// TestRegisterInProcesses is one row from 64 first requests in two processes of the operating system, on a file of SQLite;
// examples/tenants has it with PostgreSQL.
func TestRegisterInProcesses(t *testing.T) {
	if file := os.Getenv(childEnv); file != "" {
		registerMany(t, file)
		return
	}
	cfg := sqliteConfig(t)
	file := cfg.Clients.Default.Connection.Filename
	var children []*exec.Cmd
	for range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRegisterInProcesses$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"="+file)
		cmd.Stdout = &strings.Builder{}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	var seen []string
	for _, cmd := range children {
		err := cmd.Wait()
		out := cmd.Stdout.(*strings.Builder).String()
		if err != nil {
			t.Fatalf("a process: %v\n%s", err, out)
		}
		for line := range strings.Lines(out) {
			if _, id, ok := strings.Cut(line, "all got "); ok {
				seen = append(seen, strings.TrimSpace(id))
			}
		}
	}
	list, err := connect(t, cfg).List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d rows, %v, want 1", len(list), err)
	}
	want := fmt.Sprint(list[0].ID)
	if len(seen) != 2 || seen[0] != want || seen[1] != want {
		t.Errorf("the processes say %q, stored is %d", seen, list[0].ID)
	}
}

func registerMany(t *testing.T, file string) {
	t.Helper()
	cfg := defaultConfig()
	cfg.Clients.Default.Client, cfg.Clients.Default.Connection.Filename = SQLite, file
	s := connect(t, cfg)
	const callers = 32
	ids := make([]int64, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { ids[i] = register(t, s, "acme", 0).ID })
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("ids %d and %d", ids[0], id)
		}
	}
	t.Logf("all got %d", ids[0])
}

func register(t *testing.T, s *Store, name string, id int64) *instance.Record {
	t.Helper()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	rec, err := s.Register(context.Background(), instance.Record{ID: id, Name: name, CreatedAt: now, UpdatedAt: now})
	if err != nil {
		t.Errorf("Register(%q): %v", name, err)
		return &instance.Record{}
	}
	return rec
}
