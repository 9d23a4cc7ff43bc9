package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLayers(t *testing.T) {
	files := map[string]string{
		"config.yaml":        "a: {base: 1, mode: 1, flavor: 1, local: 1, list: [1, 2], gone: {x: 1}}\nserver: {listen: {port: 1, hostname: h}}",
		"config.prod.yaml":   "a: {mode: 2, flavor: 2, local: 2}",
		"config.docker.yaml": "a: {flavor: 3, local: 3, list: [3]}",
		"config.local.yaml":  "a: {local: 4, gone: null}",
		"config.dev.yaml":    "a: {base: dev}",
		"config.normal.yaml": "a: {base: normal}",
	}
	c := mustLoad(t, files, "META_MODE=prod", "META_FLAVOR=docker", "SERVER_LISTEN_PORT=7102")
	want := map[string]any{
		"a":      map[string]any{"base": 1, "mode": 2, "flavor": 3, "local": 4, "list": []any{3}, "gone": nil},
		"server": map[string]any{"listen": map[string]any{"port": 7102, "hostname": "h"}},
	}
	if got := c.Map(); !reflect.DeepEqual(got, want) {
		t.Errorf("merged:\n %v\nwant\n %v", got, want)
	}
	if c.Mode() != "prod" || c.Flavor() != "docker" || c.Dir() != "config" {
		t.Errorf("mode %q, flavor %q, dir %q", c.Mode(), c.Flavor(), c.Dir())
	}
	wantFiles := []string{"config/config.yaml", "config/config.prod.yaml", "config/config.docker.yaml", "config/config.local.yaml"}
	if got := c.Files(); !slices.Equal(got, wantFiles) {
		t.Errorf("files %v, want %v", got, wantFiles)
	}
	for path, at := range map[string]string{
		"base": "config/config.yaml:1", "mode": "config/config.prod.yaml:1", "flavor": "config/config.docker.yaml:1",
		"local": "config/config.local.yaml:1", "gone": "config/config.local.yaml:1", "list": "config/config.docker.yaml:1",
	} {
		if got := c.Source("a", path).String(); got != at {
			t.Errorf("a.%s is from %s, want %s", path, got, at)
		}
	}
	if got := c.Source("server", "listen", "port"); got.String() != "environment SERVER_LISTEN_PORT" || got.Layer != LayerEnvironment {
		t.Errorf("port is from %v", got)
	}
}

func TestModeAndFlavor(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "a: 1"})
	cases := []struct {
		name         string
		o            Options
		mode, flavor string
		faults       []string
	}{
		{name: "nothing said", mode: "dev", flavor: "normal"},
		{name: "empty variables", o: Options{Environ: []string{"META_MODE=", "META_FLAVOR="}}, mode: "dev", flavor: "normal"},
		{name: "environment", o: Options{Environ: []string{"META_MODE=test", "META_FLAVOR=play"}}, mode: "test", flavor: "play"},
		{name: "options win", o: Options{Mode: "prod", Flavor: "x_1", Environ: []string{"META_MODE=test", "META_FLAVOR=play"}}, mode: "prod", flavor: "x_1"},
		{name: "bad mode", o: Options{Mode: "production"}, faults: []string{`option Mode: must be one of dev, test, prod, is "production"`}},
		{name: "case of mode", o: Options{Environ: []string{"META_MODE=Prod"}}, faults: []string{`environment META_MODE: must be one of dev, test, prod, is "Prod"`}},
		{name: "flavor is a mode", o: Options{Environ: []string{"META_FLAVOR=dev"}}, faults: []string{
			`environment META_FLAVOR: must be a word of letters, digits, "_" and "-", neither a mode nor "local", is "dev"`}},
		{name: "flavor is local", o: Options{Flavor: "local"}, faults: []string{
			`option Flavor: must be a word of letters, digits, "_" and "-", neither a mode nor "local", is "local"`}},
		{name: "flavor leads elsewhere", o: Options{Flavor: "../x"}, faults: []string{
			`option Flavor: must be a word of letters, digits, "_" and "-", neither a mode nor "local", is "../x"`}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if tc.o.Environ == nil {
				tc.o.Environ = []string{}
			}
			c, err := Load(tc.o)
			wantLines(t, err, tc.faults...)
			if err == nil && (c.Mode() != tc.mode || c.Flavor() != tc.flavor) {
				t.Errorf("mode %q flavor %q, want %q %q", c.Mode(), c.Flavor(), tc.mode, tc.flavor)
			}
		})
	}
}

func TestProcessEnvironmentIsTheDefault(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "a: 1"})
	t.Setenv("APP_NAME", "from-process")
	c, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := c.Get("app", "name"); name != "from-process" {
		t.Errorf("app.name = %v", name)
	}
}

func TestMissing(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		inDir(t, nil)
		_, err := Load(Options{Dir: "nowhere", Environ: []string{}})
		wantLines(t, err, "nowhere: the configuration's directory cannot be read: no such file or directory")
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error("the cause is lost")
		}
	})
	t.Run("directory is a file", func(t *testing.T) {
		inDir(t, map[string]string{"conf": ""})
		_, err := Load(Options{Dir: "conf", Environ: []string{}})
		wantLines(t, err, "conf: the configuration's directory cannot be read: it is not a directory")
	})
	t.Run("base", func(t *testing.T) {
		_, err := load(t, map[string]string{"config.dev.yaml": "a: 1"})
		wantLines(t, err, `config/config.yaml: there is no config.yaml in the directory "config", the base of the configuration`)
	})
	t.Run("link to nothing", func(t *testing.T) {
		inDir(t, map[string]string{"config/config.yaml": ""})
		if err := os.Symlink("nowhere", "config/config.local.yaml"); err != nil {
			t.Fatal(err)
		}
		_, err := Load(Options{Environ: []string{}})
		wantLines(t, err, "config/config.local.yaml: is a link to a file that does not exist")
	})
	t.Run("a directory in a file's place", func(t *testing.T) {
		inDir(t, map[string]string{"config/config.yaml": "", "config/config.dev.yaml/x": ""})
		_, err := Load(Options{Environ: []string{}})
		wantLines(t, err, "config/config.dev.yaml: cannot be read: is a directory")
	})
}

func TestMisnamedLayers(t *testing.T) {
	_, err := load(t, map[string]string{"config.yaml": "", "config.yml": "", "config.prod.YAML": "", "other.yml": ""})
	wantLines(t, err,
		"config/config.prod.YAML: is passed over under this name, its ending must be .yaml",
		"config/config.yml: is passed over under this name, its ending must be .yaml")
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := load(t, map[string]string{
		"config.yaml":         "a: 1\na: 2\nb: {c: [}",
		"config.local.yaml":   "x: 1\n5: 2\nx: 3",
		"instances/acme.yaml": "- 1",
		"instances/b.yml":     "",
	}, "META_MODE=nope", "SERVER_LISTEN_PORT=x", "SERVER_SUBDOMAINOFFSET=1.5")
	wantLines(t, err,
		`environment META_MODE: must be one of dev, test, prod, is "nope"`,
		"config/instances/b.yml: is passed over under this name, its ending must be .yaml",
		"config/config.yaml:3: malformed YAML: did not find expected node content",
		"config/config.local.yaml:2: a key must be text, put 5 in quotes",
		"config/config.local.yaml:3: x: the key is given twice, first on line 1",
		`environment SERVER_SUBDOMAINOFFSET: server.subdomainOffset: must be a whole number, is "1.5"`,
		`environment SERVER_LISTEN_PORT: server.listen.port: must be a whole number, is "x"`,
		"config/instances/acme.yaml:1: must be an object at the top, is a list")
}

func TestDisplayPath(t *testing.T) {
	inDir(t, map[string]string{"etc/config/config.yaml": "a: 1", "app/x": ""})
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	absolute := filepath.Join(wd, "etc/config")
	c, err := Load(Options{Dir: absolute, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Source("a").String(); got != "etc/config/config.yaml:1" {
		t.Errorf("beneath the working directory: %s", got)
	}
	t.Chdir("app")
	if c, err = Load(Options{Dir: "../etc/config", Environ: []string{}}); err != nil {
		t.Fatal(err)
	}
	if got := c.Source("a").String(); got != "../etc/config/config.yaml:1" {
		t.Errorf("as the operator wrote it: %s", got)
	}
}

func TestInstances(t *testing.T) {
	c := mustLoad(t, map[string]string{
		"config.yaml":              "instance: {instances: {eu.acme: {title: Europe}}}",
		"instances/default.yaml":   "title: Default",
		"instances/acme.eu.yaml":   "title: Acme EU\nconfig:\n  onions:\n    interceptor:\n      a-ratelimit:rateLimit: {rateLimit: {limit: 30}}\n",
		"instances/acme.yaml":      "",
		"instances/README.md":      "not YAML: [",
		"instances/.#acme.yaml":    "a lock: [",
		"instances/.acme.yaml.swp": "x",
		"instances/old/x.yaml":     "[",
	})
	var names []string
	for _, i := range c.Instances() {
		names = append(names, i.Name+"="+i.File)
	}
	want := []string{"=config/instances/default.yaml", "acme=config/instances/acme.yaml", "acme.eu=config/instances/acme.eu.yaml"}
	if !slices.Equal(names, want) {
		t.Fatalf("instances %q, want %q", names, want)
	}
	eu := c.Instances()[2]
	if got := eu.Source("config", "onions", "interceptor", "a-ratelimit:rateLimit", "rateLimit", "limit"); got.String() != "config/instances/acme.eu.yaml:5" || got.Layer != LayerInstance {
		t.Errorf("limit is from %+v", got)
	}
	if title, _ := c.Get("instance", "instances", "eu.acme", "title"); title != "Europe" {
		t.Errorf("a dot in a name splits it: %v", c.Map())
	}
	var shape struct {
		Title string `koanf:"title"`
	}
	wantLines(t, eu.Decode(&shape), "config/instances/acme.eu.yaml:2: config: unknown key, known here: title")
	if got := c.Instances()[1].Map(); got == nil || len(got) != 0 {
		t.Errorf("an empty file is an empty object, got %v", got)
	}
}

func TestInstanceFilesThatAreRefused(t *testing.T) {
	_, err := load(t, map[string]string{
		"config.yaml": "", "instances/.yaml": "", "instances/a.yml": "", "instances/b.YAML": "", "instances/null.yaml": "",
		"instances/dir.yaml/x": "", "instances/bad.yaml": "title: [",
	})
	wantLines(t, err,
		"config/instances/.yaml: has no name; the file of the default instance is default.yaml",
		"config/instances/a.yml: is passed over under this name, its ending must be .yaml",
		"config/instances/b.YAML: is passed over under this name, its ending must be .yaml",
		"config/instances/dir.yaml: cannot be read: is a directory",
		`config/instances/null.yaml: no instance can be called "null", which means none (contract D1)`,
		"config/instances/bad.yaml:1: malformed YAML: did not find expected node content")
}

// What could be read comes beside the error, for a check, and says that it is no whole.
func TestPartBesideTheError(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
	}{
		{"instance", map[string]string{"config.yaml": "app: {name: x}", "instances/good.yaml": "id: 1", "instances/bad.yaml": "id: ["}},
		{"value", map[string]string{"config.yaml": "app: {name: x}\nb: 1\nb: 2", "instances/good.yaml": "id: 1", "instances/bad.yaml": ""}},
		{"layer", map[string]string{"config.yaml": "app: {name: x}", "config.dev.yaml": "app: {", "instances/good.yaml": "", "instances/bad.yaml": ""}},
	} {
		c, err := load(t, tc.files)
		if err == nil || c == nil {
			t.Fatalf("%s: got %v, %v, want both", tc.name, c, err)
		}
		if got, _ := c.Get("app", "name"); got != "x" || len(c.Instances()) != 2 {
			t.Errorf("%s: app.name %v, %d instances", tc.name, got, len(c.Instances()))
		}
		if c.Err() == nil || c.Err().Error() != err.Error() {
			t.Errorf("%s: Err is %v, want %v", tc.name, c.Err(), err)
		}
	}
	if err := base(t, "").Err(); err != nil {
		t.Errorf("a good configuration: %v", err)
	}
	// Without the base there is nothing to check.
	for _, bad := range []string{"app: [", "[]", "a: 1\n---\nb: ["} {
		if c, err := load(t, map[string]string{"config.yaml": bad}); err == nil || c != nil {
			t.Errorf("%q: got %v, %v", bad, c, err)
		}
	}
}

// A value that is missing is complained of unless it may stand where nothing could be read.
func TestMissingFromWhatWasRead(t *testing.T) {
	type section struct {
		Name string `koanf:"name" validate:"required"`
		Max  int    `koanf:"max" validate:"min=1"`
	}
	for _, tc := range []struct{ name, base, dev, want string }{
		{"whole", "s: {max: 0}", "", "config/config.yaml:1: s.name: must be given|config/config.yaml:1: s.max: must be at least 1, is 0"},
		{"a layer is lost", "s: {max: 0}", "s: [", "config/config.yaml:1: s.max: must be at least 1, is 0"},
		{"the value is lost", "s: {name: !x y, max: 1}", "", ""},
		{"another is lost", "s: {max: 1}\nt: !x y", "", "config/config.yaml:1: s.name: must be given"},
	} {
		c, _ := load(t, map[string]string{"config.yaml": tc.base, "config.dev.yaml": tc.dev})
		if c == nil {
			t.Fatalf("%s: no configuration", tc.name)
		}
		var into section
		wantLines(t, c.Decode(&into, "s"), splitBar(tc.want)...)
		wantLines(t, c.Sub("s").Decode(&into), splitBar(strings.ReplaceAll(tc.want, "s.", ""))...)
	}
}
