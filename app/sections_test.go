package app_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// pool is a module with a section that judges itself.
type pool struct {
	onion.Basic
	section poolSection
}

type poolSection struct {
	Min  int    `koanf:"min" validate:"min=0"`
	Max  int    `koanf:"max"`
	Kind string `koanf:"kind"`
}

// errPool is what a check finds.
var errPool = errors.New("too small")

func (s *poolSection) Check(env onion.Env) error {
	var errs []error
	if s.Max < s.Min {
		errs = append(errs, fmt.Errorf("modules.demo-pool.max: %w: less than min, %d", errPool, s.Min))
	}
	switch s.Kind {
	case "any":
	case "local":
		errs = append(errs, fmt.Errorf("modules.demo-pool.kind: is not for mode %s of %s", env.Mode, env.AppName))
	default:
		errs = append(errs, errors.New("cannot be used: no kind is known")) // names no value
	}
	return errors.Join(errs...)
}

func (p *pool) Config() map[string]any { return map[string]any{"modules.demo-pool": &p.section} }

func (p *pool) Provide(env onion.Env) error {
	if err := p.section.Check(env); err != nil {
		return fmt.Errorf("a module with a bad section provides: %w", err)
	}
	return onion.Provide(env, p)
}

// swimmers needs what pool provides.
type swimmers struct{ onion.Basic }

func (swimmers) Provide(env onion.Env) error {
	_, err := onion.Service[*pool](env)
	return err //nolint:wrapcheck // the application names the module
}

func withPool() []onion.Module {
	return append(modules(), passport.Module(),
		&pool{Basic: onion.Basic{ModuleName: "demo-pool"}, section: poolSection{Max: 8, Kind: "any"}},
		swimmers{onion.Basic{ModuleName: "demo-swimmers"}})
}

// TestReloadRefusesWhatAStartRefuses in the same words, each fault with its place
// and once, although nothing of it can change at run time.
func TestReloadRefusesWhatAStartRefuses(t *testing.T) {
	program(t)
	load := func(local string) *config.Config {
		if err := os.WriteFile("config/config.local.yaml", []byte(local), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Options{Environ: []string{}})
		if cfg == nil {
			t.Fatal(err)
		}
		return cfg
	}
	build := func(local string) (*app.App, error) {
		return app.New(load(local), withPool(), app.WithLogOutput(&output{}))
	}
	const good = "jwt: {stateless: true}\n"
	a, err := build(good)
	if err != nil {
		t.Fatal(err)
	}

	var all strings.Builder
	for _, bad := range []string{
		"jwt: {stateless: true, field: {header: 'a b'}}",
		"jwt: {stateless: true, field: {header: 'a b'}, clients: {oauth: {signOptions: {expiresIn: 0}}}}", // the types are judged first
		good + "server: {keys: []}",
		good + "server: {keys: [a, '', '']}",
		good + "server: {keys: 5}",    // no list: that there is no key is said of nothing more
		good + "server: {keys: [5]}",  // likewise
		good + "app: {name: ''}",      // which modules need too
		good + "app: {name: [shop]}",  // likewise
		good + "app: {name: shop\n\n", // what the file says of anything is not known
		good + "modules:\n  demo-pool:\n    min: 9\n    kind: local",
		good + "modules:\n  demo-pool:\n    kind: none",
		good + "modules: {demo-pool: {min: -1, kind: none}}",
		"jwt: {stateless: true, field: {header: 'a b'}}\nmodules: {demo-pool: {max: -1}}\nserver: {keys: []}\nsever: 1",
	} {
		_, atStart := build(bad)
		if atStart == nil {
			t.Errorf("starts with %s", bad)
			continue
		}
		err := a.Reload(load(bad))
		if err == nil || err.Error() != atStart.Error() {
			t.Errorf("%s\nat a reload: %v\nat a start: %v", bad, err, atStart)
		}
		if strings.Contains(bad, "max") && !errors.Is(atStart, errPool) {
			t.Errorf("%v does not wrap the error of the check", atStart)
		}
		fmt.Fprintf(&all, "%s\n    %s\n\n", strings.TrimSpace(bad), strings.ReplaceAll(atStart.Error(), "\n", "\n    "))
	}
	golden(t, "sections.golden", all.String())

	if err := a.Reload(load("jwt: {stateless: true, field: {header: x-token}}\nmodules: {demo-pool: {min: 8}}")); err != nil {
		t.Errorf("a good configuration is refused: %v", err)
	}
}
