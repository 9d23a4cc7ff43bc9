package ainstance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vonago/vonago/instance"
)

// Store keeps the records of instances in the table aInstance. It implements instance.Editor.
type Store struct {
	db      *sql.DB
	schema  *schema
	timeout time.Duration
}

var _ instance.Editor = (*Store)(nil)

// Open makes the store of a configuration. It connects to nothing: the database may be away, and come back, at any time. The
// error tells what is wrong with the configuration, by its path.
func Open(cfg Config) (*Store, error) {
	c := cfg.Clients.Default
	if err := c.check(); err != nil {
		return nil, err
	}
	db, err := open(c)
	if err != nil {
		return nil, err
	}
	return &Store{db: db, schema: newSchema(db, c), timeout: c.timeout()}, nil
}

// Prepare makes or changes the tables, unless it has been done; every other method does so too.
func (s *Store) Prepare(ctx context.Context) error {
	_, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	cancel()
	return nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.db.Close() }

// look does one look into the database, with the tables seen to. Every look may be repeated, so one that found a connection
// broken, as all are after a restart of the server, is.
func look[T any](ctx context.Context, s *Store, do func(ctx context.Context) (T, error)) (T, error) {
	var zero T
	ctx, cancel, err := s.begin(ctx)
	if err != nil {
		return zero, err
	}
	defer cancel()
	for attempt := 0; ; attempt++ {
		out, err := do(ctx)
		if err == nil {
			return out, nil
		}
		if attempt == maxIdle || ctx.Err() != nil || !isBroken(err) {
			return zero, reason(ctx, err)
		}
	}
}

// isBroken tells that a connection that was good has ended.
func isBroken(err error) bool {
	if told, ok := errors.AsType[*pgconn.PgError](err); ok {
		return told.Code == "57P01" || told.Code == "57P02" // the server ends, and says so
	}
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}

// begin bounds a look into the database and sees to the tables.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%s.timeoutMs: the database did not answer within %v", path, s.timeout))
	if err := s.schema.ensure(ctx); err != nil {
		err = reason(ctx, err)
		cancel()
		return nil, nil, err
	}
	return ctx, cancel, nil
}

// reason tells why a context ended instead of that it did.
func reason(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

// The statements are read alike by PostgreSQL and SQLite. A table that Vona made may have null in more columns than ours.
const (
	table   = `"aInstance"`
	columns = `"id", COALESCE("name", ''), COALESCE("title", ''), COALESCE("disabled", false), COALESCE("isolate", false), ` +
		`COALESCE("config", ''), "createdAt", "updatedAt"`
	named = ` WHERE "name" = $1 AND "deleted" = false`

	insertion = `("name", "title", "disabled", "isolate", "config", "createdAt", "updatedAt"`
	values    = ` VALUES ($1, $2, $3, $4, $5, $6, $7`
	addOne    = `INSERT INTO ` + table + ` ` + insertion + `)` + values + `) ON CONFLICT DO NOTHING`
	addWithID = `INSERT INTO ` + table + ` ` + insertion + `, "id")` + values + `, $8) ON CONFLICT DO NOTHING`
	revive    = `UPDATE ` + table + ` SET "title" = $2, "disabled" = $3, "isolate" = $4, "config" = $5, "createdAt" = $6, "updatedAt" = $7, ` +
		`"deleted" = false WHERE "name" = $1 AND "id" = $8 AND "deleted" = true`
)

// Find implements instance.Store.
func (s *Store) Find(ctx context.Context, name string) (*instance.Record, error) {
	return look(ctx, s, func(ctx context.Context) (*instance.Record, error) { return s.find(ctx, name) })
}

func (s *Store) find(ctx context.Context, name string) (*instance.Record, error) {
	rec, err := read(s.db.QueryRowContext(ctx, `SELECT `+columns+` FROM `+table+named, name))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, instance.ErrNotFound
	}
	return rec, err
}

// read reads a row of columns.
func read(row interface{ Scan(into ...any) error }) (*instance.Record, error) {
	var rec instance.Record
	var config string
	err := row.Scan(&rec.ID, &rec.Name, &rec.Title, &rec.Disabled, &rec.Isolate, &config, &rec.CreatedAt, &rec.UpdatedAt)
	if err != nil {
		return nil, err
	}
	if config != "" {
		rec.Config = []byte(config)
	}
	rec.CreatedAt, rec.UpdatedAt = rec.CreatedAt.UTC(), rec.UpdatedAt.UTC()
	return &rec, nil
}

// defaultID is the id of the default instance if none is given, as in Vona; the tables give out greater ones.
const defaultID = 1

// Register implements instance.Store. The unique index on names decides which of many processes adds the record.
func (s *Store) Register(ctx context.Context, rec instance.Record) (*instance.Record, error) {
	return look(ctx, s, func(ctx context.Context) (*instance.Record, error) { return s.register(ctx, rec) })
}

func (s *Store) register(ctx context.Context, rec instance.Record) (*instance.Record, error) {
	given := rec.ID != 0
	if rec.Name == "" && !given {
		rec.ID = defaultID
	}
	for {
		if err := s.add(ctx, rec); err != nil {
			return nil, err
		}
		stored, err := s.find(ctx, rec.Name)
		if !errors.Is(err, instance.ErrNotFound) {
			return stored, err
		}
		// Nothing was added, and not because of the name: the id belongs to another record.
		if given {
			return nil, instance.ErrIDTaken
		}
		rec.ID = 0 // the next one that the table gives out: it runs past ids that were given
	}
}

// add adds a record unless there is one of its name or id. One of both that is marked as deleted comes back.
func (s *Store) add(ctx context.Context, rec instance.Record) error {
	args := []any{rec.Name, rec.Title, rec.Disabled, rec.Isolate, nullable(rec.Config), rec.CreatedAt.UTC(), rec.UpdatedAt.UTC()}
	if rec.ID == 0 {
		_, err := s.db.ExecContext(ctx, addOne, args...)
		return err
	}
	args = append(args, rec.ID)
	result, err := s.db.ExecContext(ctx, addWithID, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	if _, err = s.find(ctx, rec.Name); !errors.Is(err, instance.ErrNotFound) {
		return err
	}
	_, err = s.db.ExecContext(ctx, revive, args...)
	return err
}

func nullable(config []byte) sql.NullString {
	return sql.NullString{String: string(config), Valid: len(config) > 0}
}

// List implements instance.Editor.
func (s *Store) List(ctx context.Context) ([]*instance.Record, error) {
	return look(ctx, s, s.list)
}

func (s *Store) list(ctx context.Context) ([]*instance.Record, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+columns+` FROM `+table+` WHERE "deleted" = false`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*instance.Record
	for rows.Next() {
		rec, err := read(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, rec)
	}
	return byName(list), rows.Err()
}

// Update implements instance.Editor: one statement, which names the columns that change.
func (s *Store) Update(ctx context.Context, name string, p instance.Patch, at time.Time) (*instance.Record, error) {
	args := []any{name, at.UTC()}
	set := []string{`"updatedAt" = $2`}
	add := func(column string, value any) {
		args = append(args, value)
		set = append(set, fmt.Sprintf(`"%s" = $%d`, column, len(args)))
	}
	if p.Title != nil {
		add("title", *p.Title)
	}
	if p.Disabled != nil {
		add("disabled", *p.Disabled)
	}
	if p.Isolate != nil {
		add("isolate", *p.Isolate)
	}
	if p.Config != nil {
		add("config", nullable(*p.Config))
	}
	statement := `UPDATE ` + table + ` SET ` + strings.Join(set, ", ") + named //nolint:gosec // no text of the caller's is in it
	return look(ctx, s, func(ctx context.Context) (*instance.Record, error) {
		if _, err := s.db.ExecContext(ctx, statement, args...); err != nil {
			return nil, err
		}
		return s.find(ctx, name)
	})
}
