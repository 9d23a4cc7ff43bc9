package ainstance

import (
	"cmp"
	"database/sql"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"
)

// maxIdle is how many connections are kept for the next look.
const maxIdle = 2

// open prepares the connections to a database; it connects to nothing yet.
func open(c ClientConfig) (*sql.DB, error) {
	var db *sql.DB
	var err error
	if c.Client == SQLite {
		db, err = openSQLite(c.Connection.Filename)
	} else {
		db, err = openPostgres(c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.connection: %w", path, err)
	}
	db.SetMaxOpenConns(c.Pool.Max)
	db.SetMaxIdleConns(min(maxIdle, c.Pool.Max))
	return db, nil
}

// openSQLite opens a file. With its write-ahead log readers do not wait for a writer; a writer waits for another one, that
// of another process too, and takes its lock when its transaction begins, so that two never wait for each other.
func openSQLite(filename string) (*sql.DB, error) {
	name := (&url.URL{Path: filename}).EscapedPath()
	connector, err := sqlite.NewConnector("file:" + name +
		"?_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_time_format=sqlite&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// openPostgres speaks to a server without prepared statements, so that a pooler may stand between.
func openPostgres(c ClientConfig) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(c.Connection.text())
	if err != nil {
		// The error of pgx may hold the text, and the text the password.
		return nil, fmt.Errorf("cannot be used: %s", strings.ReplaceAll(err.Error(), c.Connection.text(), "..."))
	}
	cfg.ConnectTimeout = c.timeout()
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	return stdlib.OpenDB(*cfg), nil
}

// text is the connection in libpq's form. Every field is said, so that the environment's PGHOST and the like change nothing.
func (c Connection) text() string {
	fields := []struct{ name, value string }{
		{"host", cmp.Or(c.Host, "127.0.0.1")}, {"port", strconv.Itoa(cmp.Or(c.Port, 5432))}, {"user", c.User},
		{"password", c.Password.Reveal()}, {"dbname", c.Database}, {"sslmode", cmp.Or(c.SSLMode, "prefer")},
		{"sslrootcert", c.SSLRootCert}, {"application_name", "vonago"},
	}
	var text strings.Builder
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for _, f := range fields {
		if f.value == "" && f.name != "password" {
			continue
		}
		fmt.Fprintf(&text, "%s='%s' ", f.name, quote.Replace(f.value))
	}
	return text.String()
}
