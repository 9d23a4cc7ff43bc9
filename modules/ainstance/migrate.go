package ainstance

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlitecode "modernc.org/sqlite/lib"
)

//go:embed migrations
var migrations embed.FS

// versionTable is where the versions of the schema are noted: a name of its own, so that an application may keep migrations
// of its own in the same database.
const versionTable = "a_instance_version"

// lockID is the advisory lock under which PostgreSQL's schema is changed: "vonago" and a number, in bytes.
const lockID = 0x766f6e61676f01

// schema sees to it, once in this process, that the tables are there. The database may be away when the process starts, so
// whoever needs the tables asks.
type schema struct {
	db       *sql.DB
	client   string
	filename string // SQLite's

	done atomic.Bool
	turn chan struct{} // lets one caller at a time work
}

func newSchema(db *sql.DB, c ClientConfig) *schema {
	return &schema{db: db, client: c.Client, filename: c.Connection.Filename, turn: make(chan struct{}, 1)}
}

// ensure makes or changes the tables unless that has been done.
func (s *schema) ensure(ctx context.Context) error {
	if s.done.Load() {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the schema: %w", context.Cause(ctx))
	}
	if s.done.Load() {
		return nil
	}
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("prepare the schema: %w", err)
	}
	s.done.Store(true)
	return nil
}

// migrate is safe in any number of processes at once: they take turns by a lock that ends with the process that holds it.
func (s *schema) migrate(ctx context.Context) error {
	dir, dialect := "migrations/postgres", goose.DialectPostgres
	locked := goose.WithSessionLocker(advisoryLock{})
	if s.client == SQLite {
		if err := os.MkdirAll(filepath.Dir(s.filename), 0o750); err != nil {
			return err
		}
		dir, dialect, locked = "migrations/sqlite", goose.DialectSQLite3, goose.WithLocker(&fileLock{filename: s.filename})
	}
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, s.db, files, locked,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx) // HasPending would not take the lock, and makes a table all the same
	return err
}

// advisoryLock is a lock of PostgreSQL that belongs to a session.
type advisoryLock struct{}

// SessionLock waits for the lock.
func (advisoryLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(lockID))
	return err
}

// SessionUnlock gives the lock back.
func (advisoryLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", int64(lockID))
	return err
}

// fileLock is the write lock of an empty database beside the one that is changed: SQLite has no lock that outlasts a
// transaction, and the operating system takes this one from a process that dies.
type fileLock struct {
	filename string
	db       *sql.DB
	tx       *sql.Tx
}

// Lock waits for the lock.
func (l *fileLock) Lock(ctx context.Context, _ *sql.DB) error {
	db, err := openSQLite(l.filename + "-migrate")
	if err != nil {
		return err
	}
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			l.db, l.tx = db, tx
			return nil
		}
		if !isBusy(err) {
			return errors.Join(err, db.Close())
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), db.Close())
		}
	}
}

// Unlock gives the lock back.
func (l *fileLock) Unlock(context.Context, *sql.DB) error {
	return errors.Join(l.tx.Rollback(), l.db.Close())
}

// isBusy tells that another connection holds a lock.
func isBusy(err error) bool {
	coded, ok := errors.AsType[*sqlite.Error](err)
	return ok && coded.Code()&0xff == sqlitecode.SQLITE_BUSY
}
