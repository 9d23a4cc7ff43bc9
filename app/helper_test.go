package app_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(source(t), "testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (go test -update writes it anew); got\n%s", path, got)
	}
}

// sourceDir is the directory of this package, before any test has left it.
var sourceDir, errSourceDir = os.Getwd()

func source(t *testing.T) string {
	t.Helper()
	if errSourceDir != nil {
		t.Fatal(errSourceDir)
	}
	return sourceDir
}

// token is a secret of a package that does not import config.
type token string

// Reveal gives the text.
func (s token) Reveal() string { return string(s) }

type upstream struct {
	URL    string   `json:"url"`
	Token  token    `json:"token"`
	Tries  int      `json:"tries" range:"0..10"`
	Shared []string `json:"shared"`
}

func pass[O any](O, onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next { return next }, nil
}

func check[O any](O, onion.Env) (onion.CheckFunc, error) {
	return func(context.Context, *onion.Call) (onion.Verdict, error) { return onion.Pass, nil }, nil
}

var (
	edge = onion.SystemMiddleware("demo-shop:edge", onion.NoDefaults, pass[onion.NoOptions])
	late = onion.SystemMiddleware("demo-shop:late", onion.NoDefaults, pass[onion.NoOptions], onion.After("demo-shop:edge"))
	door = onion.Guard("demo-shop:door", onion.NoDefaults, check[onion.NoOptions], onion.Global())
	feed = onion.Interceptor("demo-shop:feed", func() upstream { return upstream{URL: "http://localhost", Tries: 1} }, pass[upstream],
		onion.Global(), onion.Tag("feed"))
	prod  = onion.Interceptor("demo-shop:prod", onion.NoDefaults, pass[onion.NoOptions], onion.Global(), onion.Disabled())
	audit = onion.Interceptor("demo-shop:audit", onion.NoDefaults, pass[onion.NoOptions], onion.Tag("audit"))
)

// items is declared by tags, orders by code.
type items struct {
	onion.ControllerTag `name:"items" path:"items" feed:"tries=3"`

	Get onion.Action[itemInput, string] `get:":id" audit:""`
}

type itemInput struct {
	ID int `param:"id"`
}

func (i *items) get(context.Context, *itemInput) (string, error) { return "", nil }

type orders struct{}

func (orders) Controller() onion.Controller {
	list := func(context.Context, *onion.Empty) (string, error) { return "orders", nil }
	return onion.Controller{Name: "orders", Path: "orders", Routes: []onion.Route{
		onion.Get("list", "list", list, feed.Use(upstream{Tries: 5}, onion.Enable(false))),
	}}
}

func modules() []onion.Module {
	tagged := &items{}
	tagged.Get = tagged.get
	return []onion.Module{onion.Basic{
		ModuleName:        "demo-shop",
		ModuleOnions:      []onion.Onion{edge, late, door, feed, prod, audit},
		ModuleControllers: []onion.Declaration{onion.Tags(tagged), onion.Code(orders{})},
	}}
}

// program is an application in a directory of its own, with a file of instances
// and a stored record.
func program(t *testing.T) (p app.Program, out, log *output) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"config/config.yaml": `app: {name: shop}
server:
  keys: [the-first-key, the-second-key]
  listen: {port: 0}
instance:
  instances:
    closed: {title: Closed, disabled: true, config: {onions: {interceptor: {demo-shop:feed: {token: hunter5}}}}}
onions:
  middlewareSystem:
    demo-shop:edge: {match: ["/api/demo/shop/orders/list", "regexp:///^\\/api\\/demo\\/shop\\/items\\/1$/"]}
    demo-shop:late: {meta: {instanceName: beta, host: shop.test}}
  guard:
    demo-shop:door: {meta: {mode: prod}}
  interceptor:
    demo-shop:feed:
      url: https://user:hunter2@feed.test/a?b=c
      shared: [a, "7"]
`,
		"config/instances/default.yaml": "",
		"config/instances/acme.yaml": `id: 7
title: Acme
config:
  onions:
    interceptor:
      demo-shop:feed:
        token: hunter3
        ignore: /demo/shop/orders/list
`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := instance.NewMemoryStore()
	if _, err := store.Put(instance.Record{Name: "acme", ID: 7, Config: []byte(`{"onions":{"interceptor":{"demo-shop:feed":{"tries":2,"url":"redis://:hunter4@r"}}}}`)}); err != nil {
		t.Fatal(err)
	}
	out, log = &output{}, &output{}
	return app.Program{
		Name: "shop", Dirs: []string{"."}, Modules: modules, Stdout: out, Stderr: log, Environ: []string{"SERVER_LISTEN_HOSTNAME=127.0.0.1"},
		Options: []app.Option{app.WithStore(countedStore{store, t})},
	}, out, log
}

// countedStore fails the test if an inspection leaves a record.
type countedStore struct {
	*instance.MemoryStore
	t *testing.T
}

func (s countedStore) Register(ctx context.Context, rec instance.Record) (*instance.Record, error) {
	s.t.Errorf("a record of %q was registered", rec.Name)
	return s.MemoryStore.Register(ctx, rec)
}

// output is what the program prints, read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the text has been printed n times.
func (o *output) await(t *testing.T, n int, text string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); strings.Count(o.String(), text) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not printed %d times: %s; printed was\n%s", n, text, o)
		}
	}
}

// run gives what a command prints, and its exit code.
func run(t *testing.T, p app.Program, args ...string) (code int, out, log string) {
	t.Helper()
	var o, l output
	p.Stdout, p.Stderr = &o, &l
	code = p.Run(t.Context(), slices.Clone(args))
	return code, o.String(), l.String()
}
