package app

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// sections are the parts of the configuration that belong to no module.
type sections struct {
	app      appSection
	server   serverSection
	proxy    executor.ProxyConfig
	logger   loggerSection
	instance instance.Section
	statics  []instance.Static
}

type appSection struct {
	// Name is the issuer of tokens and part of every Redis key (contract P1, P5).
	Name string `koanf:"name" validate:"required"`
}

type serverSection struct {
	executor.ServerConfig

	// Keys sign and verify tokens: the first signs, all verify.
	Keys []config.Secret `koanf:"keys"`
	// DrainMs is how long the server goes on serving, in milliseconds, after
	// ready has turned 503 at shutdown; 0 is not at all.
	DrainMs int `koanf:"drainMs" validate:"min=0,max=600000"`
}

type loggerSection struct {
	Clients struct {
		Default struct {
			// Level is the least level that is logged.
			Level string `koanf:"level" validate:"oneof=debug info warn error"`
		} `koanf:"default"`
	} `koanf:"clients"`
}

// claimed are the dotted paths of the sections above.
var claimed = []string{"app", "server", "proxy", "logger", "instance", "onions"}

// moduleSection is a section of the configuration that belongs to a module.
type moduleSection struct {
	path string
	// into is what the module gave: a pointer to a struct.
	into any
	// owner is the module's name.
	owner string
	// bad is set when what filled it is wrong.
	bad bool
	// defaults is what that held at first, before it was filled.
	defaults reflect.Value
}

// moduleSections asks the modules for their sections.
func moduleSections(modules []onion.Module) []moduleSection {
	var list []moduleSection
	for _, m := range modules {
		c, ok := m.(onion.Configurable)
		if !ok {
			continue
		}
		own := c.Config()
		for _, path := range slices.Sorted(maps.Keys(own)) {
			s := moduleSection{path: path, into: own[path], owner: m.Name()}
			if v := reflect.ValueOf(s.into); v.Kind() == reflect.Pointer && !v.IsNil() {
				s.defaults = reflect.New(v.Type().Elem()).Elem()
				s.defaults.Set(v.Elem())
			}
			list = append(list, s)
		}
	}
	return list
}

// fresh is the section as it was before it was filled, to try a configuration
// on. The module goes on using its own.
func (s moduleSection) fresh() moduleSection {
	if s.defaults.IsValid() {
		v := reflect.New(s.defaults.Type())
		v.Elem().Set(s.defaults)
		s.into = v.Interface()
	}
	return s
}

// readSections decodes the sections of the application and of its modules, and
// refuses every key that belongs to none of them. All faults are in the error, and
// the modules' sections that have some are marked.
func readSections(cfg *config.Config, modules []moduleSection) (sections, error) {
	s := sections{server: serverSection{ServerConfig: executor.DefaultServerConfig()}, proxy: executor.DefaultProxyConfig()}
	s.logger.Clients.Default.Level = "info"
	var errs faults
	errs.add(cfg.Decode(&s.app, "app"))
	errs.add(cfg.Decode(&s.server, "server"))
	s.salvage(cfg)
	errs.add(cfg.Decode(&s.proxy, "proxy"))
	errs.add(cfg.Decode(&s.logger, "logger"))
	if err := s.proxy.Check(); err != nil {
		errs.addFaults(cfg, err, "proxy")
		s.proxy = executor.DefaultProxyConfig() // so that the runtime does not complain of the same
	}
	var err error
	s.instance, err = instance.ReadSection(cfg.Tree)
	errs.add(err)
	s.statics, err = instance.Statics(cfg.Tree, cfg.Instances())
	errs.add(err)

	known := slices.Clone(claimed)
	env := onion.NewEnv(s.app.Name, onion.Mode(cfg.Mode()), cfg.Flavor(), nil, nil)
	errs.add(onion.Provide(env, s.server.passportKeys()))
	for i, m := range modules {
		known = append(known, m.path)
		modules[i].bad = !m.fill(cfg, env, &errs)
	}
	errs.add(cfg.Unclaimed(known...))
	return s, errs.err()
}

// fill decodes the section and lets it judge itself; ok is false if it has faults.
func (s moduleSection) fill(cfg *config.Config, env onion.Env, errs *faults) (ok bool) {
	path := strings.Split(s.path, ".")
	if err := cfg.Decode(s.into, path...); err != nil {
		errs.add(err)
		return false
	}
	if c, judges := s.into.(onion.SectionChecker); judges {
		if err := c.Check(env); err != nil {
			errs.addFaults(cfg, err, path...)
			return false
		}
	}
	return true
}

// defaultsUnder is what the sections hold where the configuration says nothing. It
// is taken from the sections as they were filled: put under the configuration, what
// that says stands above it.
func (a *App) defaultsUnder(s sections) *config.Tree {
	const label = "default"
	tree := config.FromMap(label, nil)
	add := func(section any, path ...string) {
		if values := config.Values(section); values != nil {
			tree = tree.Overlay(config.FromMap(label, config.Nested(values, path...)))
		}
	}
	add(s.app, "app")
	add(s.server, "server")
	add(s.proxy, "proxy")
	add(s.logger, "logger")
	add(s.instance, "instance")
	for _, m := range a.sections {
		add(m.into, strings.Split(m.path, ".")...)
	}
	return tree
}

// salvage reads what modules need of sections that did not decode, so that they
// do not complain of what is there.
func (s *sections) salvage(cfg *config.Config) {
	if name, _ := cfg.Get("app", "name"); s.app.Name == "" {
		s.app.Name, _ = name.(string)
	}
	if list, _ := cfg.Get("server", "keys"); len(s.server.Keys) == 0 {
		keys, _ := list.([]any)
		for _, k := range keys {
			if text, ok := k.(string); ok {
				s.server.Keys = append(s.server.Keys, config.NewSecret(text))
			}
		}
	}
}

// passportKeys are the server's keys as the passport takes them.
func (s serverSection) passportKeys() passport.Keys {
	keys := make(passport.Keys, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = passport.Secret(k.Reveal())
	}
	return keys
}

// onionSettings is what the application's configuration says of onions.
func onionSettings(cfg *config.Config) onion.Settings {
	s := onion.Settings{Kind: onion.LayerApp, Label: "application config"}
	if v, ok := cfg.Get("onions"); ok {
		s.Onions = v
	}
	s.Source = func(path ...string) string {
		return cfg.Source(append([]string{"onions"}, path...)...).String()
	}
	return s
}
