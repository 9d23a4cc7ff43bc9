package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// students is the job as a controller of vonago.
type students struct {
	onion.ControllerTag `name:"student" path:"student"`

	View   onion.Action[viewInput, *student]   `get:":id" passport:"public"`
	Create onion.Action[createInput, *student] `post:"" passport:"public"`
	// Limited is View behind the identity limiter, whatever configuration says.
	Limited onion.Action[viewInput, *student] `get:"limited/:id" passport:"public" rateLimit:"enable"`
}

type viewInput struct {
	ID   int64 `param:"id" validate:"min=1"`
	Year int   `query:"year" validate:"min=0,max=6"`
}

type createInput struct {
	Student checkedStudent `body:""`
}

type checkedStudent struct {
	Name string `json:"name" validate:"required,max=50"`
	Year int    `json:"year" validate:"min=1,max=6"`
}

func newStudents() *students {
	show := func(_ context.Context, in *viewInput) (*student, error) { return view(in.ID, in.Year), nil }
	return &students{
		View: show, Limited: show,
		Create: func(_ context.Context, in *createInput) (*student, error) {
			return create((*newStudent)(&in.Student)), nil
		},
	}
}

// baseConfig is the application's configuration. The log's level leaves
// a-logger:httpLog in the chain, but its lines unwritten: no peer writes any. The
// limiter waits as long as the peers' client of Redis does, so that a machine that
// stalls refuses no request in the one case only.
const baseConfig = `
app: {name: bench}
server: {keys: [a-key-for-the-benchmark-only-0123456789]}
jwt: {stateless: true}
logger: {clients: {default: {level: warn}}}
instance: {instances: {"": {title: the default instance}}}
redis: {clients: {limiter: {timeoutMs: 3000}}}
`

// vonagoApp builds and starts an application. more is YAML on top of baseConfig,
// redis the address of a server, or "" for none (nothing then asks for one).
func vonagoApp(tb testing.TB, more, redis string, modules ...onion.Module) *app.App {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range map[string]string{"config.yaml": baseConfig, "config.local.yaml": more} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	environ := []string{"META_MODE=prod"}
	if redis != "" {
		host, port, err := net.SplitHostPort(redis)
		if err != nil {
			tb.Fatal(err)
		}
		environ = append(environ, "REDIS_DEFAULT_HOST="+host, "REDIS_DEFAULT_PORT="+port)
	}
	cfg, err := config.Load(config.Options{Dir: dir, Environ: environ})
	if err != nil {
		tb.Fatal(err)
	}
	list := []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), passport.Module(), aratelimit.Module(),
		onion.Basic{ModuleName: "demo-student", ModuleControllers: []onion.Declaration{onion.Tags(newStudents())}},
	}
	a, err := app.New(cfg, append(list, modules...), app.WithLogOutput(io.Discard))
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	if err := a.Start(ctx); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := a.Stop(ctx); err != nil {
			tb.Errorf("stop the application: %v", err)
		}
	})
	return a
}

// vonago is the job with all onions that an application has by default.
func vonago(tb testing.TB) http.Handler {
	tb.Helper()
	return vonagoApp(tb, "redis: {embedded: false}", "").Handler()
}
