package app_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
)

// serving runs the program until the test ends and waits until it listens.
func serving(t *testing.T, p app.Program, out *output) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- p.Run(ctx, []string{"serve"}) }()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	out.await(t, 1, "listens on")
}

// TestHangupReloads sends this process SIGHUP. The files are as they were, or are
// not watched, so that nothing else reloads them.
func TestHangupReloads(t *testing.T) {
	const done = "the configuration was reloaded"
	for name, options := range map[string][]app.Option{"watched": nil, "unwatched": {app.WithoutWatch()}} {
		t.Run(name, func(t *testing.T) {
			p, out, log := program(t)
			p.Options = append(p.Options, options...)
			serving(t, p, out)
			for n := range 2 {
				if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				log.await(t, n+1, done)
			}
			if err := os.WriteFile("config/config.local.yaml", []byte("sever: 1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			log.await(t, 1, "config/config.local.yaml:1: sever: unknown key")
		})
	}
}

// TestReloadRefusesAPart never runs on what came beside the error of Load.
func TestReloadRefusesAPart(t *testing.T) {
	program(t)
	cfg, err := config.Load(config.Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(cfg, modules(), app.WithLogOutput(&output{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("config/instances/bad.yaml", []byte("id: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	part, err := config.Load(config.Options{Environ: []string{}})
	if part == nil || err == nil {
		t.Fatalf("loaded %v, %v", part, err)
	}
	if err := a.Reload(part); err == nil || !strings.Contains(err.Error(), "bad.yaml:1") {
		t.Errorf("a part was put in force: %v", err)
	}
	if got := strings.Join(a.Instances(), ","); got != ",acme,closed" {
		t.Errorf("instances %s", got)
	}
	if _, err := app.New(part, modules(), app.WithLogOutput(&output{})); err == nil || !strings.Contains(err.Error(), "bad.yaml:1") {
		t.Errorf("an application was built of a part: %v", err)
	}
}

// TestCheckNamesFaultsOfEveryFile although one of them is no YAML.
func TestCheckNamesFaultsOfEveryFile(t *testing.T) {
	p, _, _ := program(t)
	for name, text := range map[string]string{
		"config/config.local.yaml":  "server: [",
		"config/config.dev.yaml":    "sever: 1\n",
		"config/instances/bad.yaml": "config: {onions: {guard: {demo-shop:doors: {}}}}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Environ = append(p.Environ, "SERVER_LISTEN_PORT=http")
	code, out, log := run(t, p, "check")
	if code != 1 || out != "" {
		t.Errorf("exit code %d, %s", code, out)
	}
	golden(t, "check.golden", log)

	// Each fault of a section that the runtime reads as well is named once.
	p, _, _ = program(t)
	if err := os.WriteFile("config/config.local.yaml", []byte("proxy: {enabled: true, trusted: [here, 10.0.0.0/99]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, log = run(t, p, "check")
	if code != 1 || out != "" {
		t.Errorf("exit code %d, %s", code, out)
	}
	golden(t, "check-proxy.golden", log)

	// Warnings and a count otherwise.
	p, _, _ = program(t)
	if err := os.WriteFile("config/config.local.yaml", []byte("onions: {guard: {demo-shop:door: {dependencies: a-b:c, ignore: [/demo/shop/item, /demo/shop/items/:id]}}}\nproxy: {trusted: [10.0.0.0/8]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, log = run(t, p, "check")
	if code != 0 || log != "" {
		t.Errorf("exit code %d, %s", code, log)
	}
	golden(t, "check-warnings.golden", out)
}
