// Command hello is the smallest whole application on vonago: one controller with
// one action.
package main

import (
	"context"
	"os"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Greetings is a controller: each Action field is a route, its tags are its
// policies.
type Greetings struct {
	onion.ControllerTag `name:"greeting" path:"greeting"`

	Hello onion.Action[HelloInput, string] `get:":name" passport:"public" rateLimit:"enable,limit=6"`
}

// HelloInput is what the action takes from a request.
type HelloInput struct {
	Name string `param:"name" validate:"max=20"`
}

func hello(_ context.Context, in *HelloInput) (string, error) {
	return "Hello, " + in.Name, nil
}

func modules() []onion.Module {
	return []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), passport.Module(), aratelimit.Module(),
		onion.Basic{ModuleName: "demo-hello", ModuleControllers: []onion.Declaration{
			onion.Tags(&Greetings{Hello: hello}),
		}},
	}
}

func main() {
	program := app.Program{Name: "hello", Dirs: []string{"examples/hello", "."}, Modules: modules}
	os.Exit(program.Main())
}
