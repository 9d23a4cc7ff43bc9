// Command tenants is a service whose tenants stand in a database: they are made,
// changed and locked while it serves, by any of its processes. It needs nothing
// installed: the records are in an SQLite file. docs/multi-instance-guide.md says
// how several processes share a PostgreSQL and a Redis.
package main

import (
	"os"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/examples/tenants/tenants"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/ainstance"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

func main() {
	program := app.Program{
		Name:    "tenants",
		Dirs:    []string{"examples/tenants", "."},
		Modules: modules,
		Hints:   hints,
	}
	os.Exit(program.Main())
}

func modules() []onion.Module {
	return []onion.Module{
		acore.Module(), aredis.Module(), ainstance.Module(), passport.Module(), aratelimit.Module(), tenants.Module(),
	}
}

func hints(base string) []string {
	json := " -H 'content-type: application/json' -H \"authorization: Bearer $TOKEN\""
	return []string{
		"try:",
		"  curl -si " + base + "/api/demo/tenants/hello -H 'x-vona-instance-name: acme'      (423: nobody has made acme)",
		"  TOKEN=$(curl -s " + base + "/api/demo/tenants/login -d key=tenants-development-key | sed 's/.*\"token\":\"\\([^\"]*\\).*/\\1/')",
		"  curl -s " + base + "/api/demo/tenants/records" + json + " -d '{\"name\":\"acme\",\"title\":\"Acme\",\"limit\":30}'",
		"  curl -s -X PATCH " + base + "/api/demo/tenants/records" + json + " -d '{\"name\":\"acme\",\"limit\":20}'",
		"  curl -s -X PATCH " + base + "/api/demo/tenants/records" + json + " -d '{\"name\":\"acme\",\"disabled\":true}'",
		"  curl -s " + base + "/api/demo/tenants/records" + json,
	}
}
