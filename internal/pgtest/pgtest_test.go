//go:build unix

package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServer(t *testing.T) {
	var dir, addr string
	t.Run("life", func(t *testing.T) {
		s := Start(t)
		dir, addr = s.dir, s.Addr()
		one, two := s.Database(), s.Database()
		s.Exec(one, "CREATE TABLE kept (n int)")
		s.Exec(one, "INSERT INTO kept VALUES (41), (1)")
		if n := s.Count(one, "SELECT sum(n) FROM kept"); n != 42 {
			t.Errorf("the sum is %d, want 42", n)
		}
		if n := s.Count(two, "SELECT count(*) FROM pg_tables WHERE tablename = 'kept'"); n != 0 {
			t.Error("two databases are one")
		}
		s.Stop()
		s.Stop()
		db := s.open(one)
		defer db.Close()
		if err := db.PingContext(context.Background()); err == nil {
			t.Error("a stopped server answers")
		}
		s.Restart()
		if s.Addr() != addr {
			t.Errorf("the address became %s, was %s", s.Addr(), addr)
		}
		if n := s.Count(one, "SELECT count(*) FROM kept"); n != 2 {
			t.Errorf("%d rows after the restart, want 2", n)
		}
		if !strings.Contains(s.Log(), "ready to accept connections") {
			t.Errorf("no log: %s", s.Log())
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the data is still there after the test: %v", err)
	}
}

func TestFindBin(t *testing.T) {
	fake := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(fake, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// On PATH is a link to the program, as packages leave it.
	path := t.TempDir()
	if err := os.Symlink(filepath.Join(fake, "initdb"), filepath.Join(path, "initdb")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	if got, err := findBin(); err != nil || got != fake {
		t.Errorf("findBin() = %q, %v, want %q", got, err, fake)
	}
	if version("/usr/lib/postgresql/15/bin") != 15 || version("/opt/bin") != 0 {
		t.Error("versions are not read")
	}
}
