// Command student is a small Cabloy-style service on vonago: the application one
// would write on day one. It needs nothing installed.
package main

import (
	"os"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/examples/student/student"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/onion"
)

func main() { os.Exit(program().Main()) }

func program() app.Program {
	return app.Program{
		Name:    "student",
		Dirs:    []string{"examples/student", "."},
		Modules: modules,
		Hints:   hints,
	}
}

func modules() []onion.Module {
	users := student.NewUsers()
	return []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(),
		auser.Module(auser.Adapters{Users: users, Roles: users}), aratelimit.Module(), student.Module(users),
	}
}

func hints(base string) []string {
	return []string{
		"try:",
		"  curl -s " + base + "/api/demo/student/1",
		"  curl -s " + base + "/api/demo/student/1 -i -H 'x-vona-instance-name: acme'    # acme's own limit",
		"  curl -s " + base + "/api/demo/student/report -i                               # 6 a minute",
		"  curl -s " + base + "/api/demo/student/mine                                    # 401: not public",
		"  curl -s " + base + "/api/demo/student -d '{\"name\":\"\",\"year\":9}' -H 'content-type: application/json'",
		"  curl -s " + base + "/api/demo/student/auth/sign-in -d '{\"name\":\"tom\",\"password\":\"tom-in-development\"}' -H 'content-type: application/json'",
		"  curl -s " + base + "/health/ready",
	}
}
