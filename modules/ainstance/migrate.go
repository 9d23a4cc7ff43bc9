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
	db     *sql.DB
	config ClientConfig

	done atomic.Bool
	turn chan struct{} // lets one caller at a time work
}

func newSchema(db *sql.DB, c ClientConfig) *schema {
	return &schema{db: db, config: c, turn: make(chan struct{}, 1)}
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

// migrate is safe in any number of processes at once: they take turns. The locks that goose knows come too late, as it makes its
// own table before it takes one.
func (s *schema) migrate(ctx context.Context) (failed error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return fmt.Errorf("take turns with other processes: %w", err)
	}
	defer func() { failed = errors.Join(failed, unlock()) }()
	dir, dialect := "migrations/postgres", goose.DialectPostgres
	if s.config.Client == SQLite {
		dir, dialect = "migrations/sqlite", goose.DialectSQLite3
	}
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(dialect, s.db, files, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// lock waits until no other process changes the schema, and keeps them from it until unlock is called or this process ends. It
// is held by a transaction on a connection of its own: in PostgreSQL an advisory lock; SQLite has none, so there it is the write
// lock of an empty database beside the one that is changed.
func (s *schema) lock(ctx context.Context) (unlock func() error, err error) {
	var db *sql.DB
	if s.config.Client == SQLite {
		filename := s.config.Connection.Filename
		if err := os.MkdirAll(filepath.Dir(filename), 0o750); err != nil {
			return nil, err
		}
		db, err = openSQLite(filename + "-migrate")
	} else {
		db, err = openPostgres(s.config)
	}
	if err != nil {
		return nil, err
	}
	tx, err := s.hold(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() error { return errors.Join(ignoreDone(tx.Rollback()), db.Close()) }, nil
}

func (s *schema) hold(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil && s.config.Client != SQLite {
			if _, err = tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockID)); err != nil {
				return nil, errors.Join(err, ignoreDone(tx.Rollback()))
			}
		}
		if err == nil || !isBusy(err) {
			return tx, err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ignoreDone leaves out the error of a transaction that its context has ended already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// isBusy tells that another connection holds a lock.
func isBusy(err error) bool {
	coded, ok := errors.AsType[*sqlite.Error](err)
	return ok && coded.Code()&0xff == sqlitecode.SQLITE_BUSY
}
