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
	turns, err := s.turns()
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, turns.Close()) }()
	if s.upToDate(ctx, turns, provider) {
		return nil
	}
	turn, err := s.takeTurn(ctx, turns)
	if err != nil {
		return fmt.Errorf("take turns with other processes: %w", err)
	}
	defer func() { failed = errors.Join(failed, ignoreDone(turn.Rollback())) }()
	if s.upToDate(ctx, turns, provider) { // by now
		return nil
	}
	_, err = provider.Up(ctx)
	return err
}

// turns are connections apart, by which processes take turns, in PostgreSQL to the database itself. SQLite has no lock that
// outlasts a transaction, so there it is an empty database beside the one that is changed. Who waits keeps no connection:
// there may be few, and whoever has the turn needs another one.
func (s *schema) turns() (*sql.DB, error) {
	var db *sql.DB
	var err error
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
	db.SetMaxIdleConns(0)
	return db, nil
}

// upToDate tells, changing nothing, that a server has all tables already: a start then takes no turn. Of SQLite it is not
// asked: the first connection to a file changes it.
func (s *schema) upToDate(ctx context.Context, db *sql.DB, provider *goose.Provider) bool {
	if s.config.Client == SQLite {
		return false
	}
	sources := provider.ListSources() // by version
	var version sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable+" WHERE is_applied").Scan(&version)
	return err == nil && version.Int64 >= sources[len(sources)-1].Version
}

// takeTurn waits until no other process changes the schema, and keeps them from it until the transaction is rolled back or this
// process ends.
func (s *schema) takeTurn(ctx context.Context, turns *sql.DB) (*sql.Tx, error) {
	for {
		tx, err := s.hold(ctx, turns)
		if !errors.Is(err, errTaken) && !isBusy(err) {
			return tx, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errTaken = errors.New("another process changes the schema")

// hold begins the transaction that has the lock. The error is errTaken, or one that isBusy knows, while another one has it.
func (s *schema) hold(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil || s.config.Client == SQLite {
		return tx, err
	}
	got := false
	// It is idle while goose works on other connections, which a server may have limited.
	if _, err = tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err == nil {
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(lockID)).Scan(&got)
	}
	if got {
		return tx, nil
	}
	if err == nil {
		err = errTaken
	}
	return nil, errors.Join(err, ignoreDone(tx.Rollback()))
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
