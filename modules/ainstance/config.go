package ainstance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// Config is the section "database" of the configuration, named as in Vona. There is one client, "default".
type Config struct {
	Clients struct {
		// Default is the database that holds the records of instances.
		Default ClientConfig `koanf:"default"`
	} `koanf:"clients"`
}

// The kinds of databases, as Vona names them.
const (
	// SQLite is embedded in the process. Several processes of one machine may share its file.
	SQLite = "sqlite3"
	// Postgres is a PostgreSQL server, 12 or later.
	Postgres = "pg"
)

// ClientConfig says what database it is and how to speak to it.
type ClientConfig struct {
	// Client is sqlite3 or pg; it must be given.
	Client string `koanf:"client" validate:"omitempty,oneof=sqlite3 pg"`
	// Connection says where the database is.
	Connection Connection `koanf:"connection"`
	// Pool bounds the connections of this process.
	Pool struct {
		// Max is the highest number of connections, 1 to 1000; 10 if nothing is said.
		Max int `koanf:"max" validate:"min=1,max=1000"`
	} `koanf:"pool"`
	// TimeoutMs bounds each look into the database, connecting included, in milliseconds, 1 to 60000; 3000 if nothing is
	// said.
	TimeoutMs int `koanf:"timeoutMs" validate:"min=1,max=60000"`
}

// Connection says where a database is. Filename is SQLite's; the others are PostgreSQL's.
type Connection struct {
	// Filename is SQLite's file, relative to the working directory; it and its directory are made when they are missing.
	Filename string `koanf:"filename"`

	// Host is a name, an IP address or the directory of a unix socket; 127.0.0.1 if nothing is said.
	Host string `koanf:"host"`
	// Port is 1 to 65535; 5432 if nothing is said.
	Port int `koanf:"port" validate:"min=0,max=65535"`
	// User and Password sign in.
	User     string          `koanf:"user"`
	Password aredis.Password `koanf:"password"`
	// Database is the name of the database.
	Database string `koanf:"database"`
	// SSLMode is libpq's: disable, prefer (if nothing is said), require, verify-ca, verify-full. Only the last tells who
	// the server is.
	SSLMode string `koanf:"sslMode" validate:"omitempty,oneof=disable prefer require verify-ca verify-full"`
	// SSLRootCert is a file with the certificates of the authorities to trust, in PEM; the machine's own if nothing is said.
	SSLRootCert string `koanf:"sslRootCert"`
}

var _ onion.SectionChecker = Config{}

func defaultConfig() Config {
	var c Config
	c.Clients.Default.Pool.Max = 10
	c.Clients.Default.TimeoutMs = 3000
	return c
}

// path is where in the configuration a client's settings stand.
const path = "database.clients.default"

// Check tells what the types of the section cannot (onion.SectionChecker).
func (c Config) Check(onion.Env) error {
	store, err := Open(c) // connects to nothing
	if err != nil {
		return err
	}
	return store.Close()
}

// check tells what is wrong with the fields of a client.
func (c ClientConfig) check() error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s.%s: %s", path, field, fmt.Sprintf(format, args...)))
	}
	given := c.Connection.serverFields()
	switch c.Client {
	case "":
		fail("client", "must be given: %s (embedded) or %s (a server)", SQLite, Postgres)
	case SQLite:
		switch {
		case c.Connection.Filename == "":
			fail("connection.filename", "must be given: the file that holds the records")
		case strings.Contains(c.Connection.Filename, ":memory:"):
			fail("connection.filename", "must be a file: records in memory are what an application without this module has")
		}
		if len(given) > 0 {
			fail("connection."+given[0], "belongs to client %s, and the client is %s", Postgres, SQLite)
		}
	case Postgres:
		if c.Connection.Filename != "" {
			fail("connection.filename", "belongs to client %s, and the client is %s", SQLite, Postgres)
		}
		for _, f := range []struct{ name, value string }{{"user", c.Connection.User}, {"database", c.Connection.Database}} {
			if f.value == "" {
				fail("connection."+f.name, "must be given")
			}
		}
	}
	return errors.Join(errs...)
}

// serverFields names the fields of a server that are given.
func (c Connection) serverFields() []string {
	var names []string
	add := func(given bool, name string) {
		if given {
			names = append(names, name)
		}
	}
	add(c.Host != "", "host")
	add(c.Port != 0, "port")
	add(c.User != "", "user")
	add(c.Password != "", "password")
	add(c.Database != "", "database")
	add(c.SSLMode != "", "sslMode")
	add(c.SSLRootCert != "", "sslRootCert")
	return names
}

func (c ClientConfig) timeout() time.Duration { return time.Duration(c.TimeoutMs) * time.Millisecond }
