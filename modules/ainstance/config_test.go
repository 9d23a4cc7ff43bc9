package ainstance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

func TestConfig(t *testing.T) {
	pg := Connection{User: "u", Database: "d"}
	tests := []struct {
		name       string
		client     string
		connection Connection
		want       []string // each in the error; none for a good one
	}{
		{"sqlite", SQLite, Connection{Filename: "a.db"}, nil},
		{"postgres", Postgres, pg, nil},
		{"nothing", "", Connection{}, []string{"database.clients.default.client: must be given"}},
		{"no file", SQLite, Connection{}, []string{"connection.filename: must be given"}},
		{"memory", SQLite, Connection{Filename: ":memory:"}, []string{"connection.filename: must be a file"}},
		{"sqlite with a server's fields", SQLite, Connection{Filename: "a.db", Port: 5432}, []string{"connection.port: belongs to client pg"}},
		{"postgres with a file", Postgres, Connection{Filename: "a.db", User: "u", Database: "d"}, []string{"connection.filename: belongs to client sqlite3"}},
		{"postgres with nothing", Postgres, Connection{}, []string{"connection.user: must be given", "connection.database: must be given"}},
		{"certificate that is not there", Postgres, Connection{User: "u", Database: "d", SSLMode: "verify-ca", SSLRootCert: "/none", Password: "se'cret"},
			[]string{"database.clients.default.connection", "/none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := defaultConfig()
			cfg.Clients.Default.Client, cfg.Clients.Default.Connection = tt.client, tt.connection
			s, err := Open(cfg)
			if err == nil {
				defer s.Close()
			}
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("Open: %v, want %q", err, tt.want)
			}
			if again := cfg.Check(onion.Env{}); fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("Check: %v, but Open: %v", again, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not say %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "cret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestPasswordIsNotPrinted(t *testing.T) {
	c := Connection{User: "u", Password: "s3cret"}
	for _, text := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c)} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("printed: %s", text)
		}
	}
}

// The environment of libpq must not send the records elsewhere.
func TestEnvironmentChangesNothing(t *testing.T) {
	t.Setenv("PGHOST", "elsewhere.example")
	t.Setenv("PGPORT", "1")
	t.Setenv("PGUSER", "somebody")
	t.Setenv("PGPASSWORD", "something")
	text := Connection{User: `it's \me`, Database: "d b"}.text()
	for _, want := range []string{`host='127.0.0.1'`, `port='5432'`, `user='it\'s \\me'`, `password=''`, `dbname='d b'`, `sslmode='prefer'`} {
		if !strings.Contains(text, want) {
			t.Errorf("the connection is %s, want %s in it", text, want)
		}
	}
}
