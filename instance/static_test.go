package instance_test

import (
	"testing"

	"github.com/vonago/vonago/instance"
)

func TestReadSection(t *testing.T) {
	tests := []struct {
		name, yaml string
		want       instance.Section
	}{
		{"nothing said", "", instance.Section{QueryField: "x-vona-instance-name", HeaderField: "x-vona-instance-name"}},
		{"query off", "instance: {queryField: \"\"}", instance.Section{HeaderField: "x-vona-instance-name"}},
		{"header off", "instance: {headerField: \"\"}", instance.Section{QueryField: "x-vona-instance-name"}},
		{"others", "instance: {queryField: tenant, headerField: x-tenant, instances: {acme: {}}}", instance.Section{QueryField: "tenant", HeaderField: "x-tenant"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := instance.ReadSection(load(t, files{"config.yaml": tt.yaml}).Tree)
			if err != nil || got != tt.want {
				t.Errorf("ReadSection = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestReadSectionFaults(t *testing.T) {
	c := load(t, files{"config.yaml": "instance:\n  queryfield: x\n  headerField: 7\n"})
	_, err := instance.ReadSection(c.Tree)
	wantLines(t, err,
		"config/config.yaml:2: instance.queryfield: unknown key, it is written queryField",
		"config/config.yaml:3: instance.headerField: must be text, is 7")
	c = load(t, files{"config.yaml": "instance:\n  headerField: \"x tenant\"\n"})
	_, err = instance.ReadSection(c.Tree)
	wantLines(t, err, "config/config.yaml:2: instance.headerField: is no name of a header field")
}

func TestStatics(t *testing.T) {
	c := load(t, files{
		"config.yaml": "instance:\n  instances:\n    beta.eu:\n      title: Beta\n      disabled: true\n",
		"config.local.yaml": "instance:\n  instances:\n    beta.eu:\n      config:\n" + limitYAML("        ", "5") +
			"    租户 1: {id: 7}\n",
		"instances/default.yaml": "",
		"instances/acme.yaml":    "title: Acme\nid: 2\nisolate: true\nconfig:\n  modules: {test-tenant: {colour: red}}\n" + limitYAML("  ", "30"),
	})
	statics, err := instance.Statics(c.Tree, c.Instances(), "modules.test-tenant")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name, title, where string
		id                 int64
		isolate, disabled  bool
		limit              string // where it is set
	}
	want := []row{
		{name: "", where: "config/instances/default.yaml", limit: "config/instances/default.yaml"},
		{name: "acme", title: "Acme", id: 2, isolate: true, where: "config/instances/acme.yaml", limit: "config/instances/acme.yaml:9"},
		{name: "beta.eu", title: "Beta", disabled: true, where: "config/config.local.yaml:3", limit: "config/config.local.yaml:8"},
		{name: "租户 1", id: 7, where: "config/config.local.yaml:9"},
	}
	if len(statics) != len(want) {
		t.Fatalf("%d instances, want %d: %+v", len(statics), len(want), statics)
	}
	for i, s := range statics {
		got := row{
			name: s.Name, title: s.Title, id: s.ID, isolate: s.Isolate != nil && *s.Isolate, disabled: s.Disabled, where: s.Where,
			limit: s.Config.Source("onions", "interceptor", "test-tenant:limit", "limit").String(),
		}
		if want[i].limit == "" || !s.Config.Has("onions") {
			got.limit = want[i].limit // nothing is said about it
		}
		if got != want[i] {
			t.Errorf("instance %d:\n  %+v\nwant:\n  %+v", i, got, want[i])
		}
	}
}

func TestStaticsFaults(t *testing.T) {
	tests := []struct {
		name  string
		files files
		want  []string
	}{
		{"unknown key", files{"instances/acme.yaml": "tilte: Acme\ntitle: Acme\nconfig: {}\n"}, []string{
			"config/instances/acme.yaml:1: tilte: unknown key, known here: config, disabled, id, isolate, title",
		}},
		{"unknown key in the section", files{"config.yaml": "instance:\n  instances:\n    acme:\n      tilte: Acme\n"}, []string{
			"config/config.yaml:4: instance.instances.acme.tilte: unknown key, known here: config, disabled, id, isolate, title",
		}},
		{"wrong types", files{"instances/acme.yaml": "title: 7\nid: one\nisolate: 1\ndisabled: null\nconfig: []\n"}, []string{
			"config/instances/acme.yaml:1: title: must be text, is 7",
			`config/instances/acme.yaml:2: id: must be a whole number, is "one"`,
			"config/instances/acme.yaml:3: isolate: must be true or false, is 1",
			"config/instances/acme.yaml:4: disabled: must be true or false, is null",
			"config/instances/acme.yaml:5: config: must be an object, is a list",
		}},
		{"section of the application", files{"instances/acme.yaml": "config:\n  server: {listen: {port: 1}}\n  modules:\n    a-ratelimit: {ipv6Prefix: 64}\n"}, []string{
			"config/instances/acme.yaml:2: config.server: unknown key, known here: modules, onions",
			"config/instances/acme.yaml:4: config.modules.a-ratelimit: unknown key, known here: test-tenant",
		}},
		{"stated twice", files{"config.yaml": "instance:\n  instances:\n    acme: {}\n", "instances/acme.yaml": ""}, []string{
			`config/instances/acme.yaml: instance "acme" is stated twice, first at config/config.yaml:3`,
		}},
		{"default stated twice", files{"config.yaml": "instance:\n  instances:\n    \"\": {}\n", "instances/default.yaml": ""}, []string{
			`config/instances/default.yaml: the default instance "" is stated twice, first at config/config.yaml:3`,
		}},
		{"names", files{"config.yaml": "instance:\n  instances:\n    default: {}\n    \"null\": {}\n"}, []string{
			`config/config.yaml:3: instance.instances.default: no instance can be called "default", the default instance's name is ""`,
			`config/config.yaml:4: instance.instances.null: no instance can be called "null", which means none`,
		}},
		{"no object", files{"config.yaml": "instance:\n  instances:\n    acme: true\n"}, []string{
			"config/config.yaml:3: instance.instances.acme: must be an object, is true",
		}},
		{"no object of instances", files{"config.yaml": "instance:\n  instances: [acme]\n"}, []string{
			"config/config.yaml:2: instance.instances: must be an object of instances by name",
		}},
		{"id out of range", files{"instances/a.yaml": "id: 0\n", "instances/b.yaml": "id: 4503599627370496\n"}, []string{
			"config/instances/a.yaml:1: id: must be between 1 and 4503599627370495, is 0",
			"config/instances/b.yaml:1: id: must be between 1 and 4503599627370495, is 4503599627370496",
		}},
		{"id twice", files{"instances/a.yaml": "id: 2\n", "instances/b.yaml": "title: B\nid: 2\n"}, []string{
			`config/instances/b.yaml: instance "b" has the id 2, as instance "a" has at config/instances/a.yaml`,
		}},
		{"the default instance's id", files{"instances/default.yaml": "", "instances/b.yaml": "id: 1\n"}, []string{
			`config/instances/b.yaml: instance "b" has the id 1, as the default instance "" has at config/instances/default.yaml`,
		}},
		{"all at once", files{"instances/a.yaml": "id: -1\nconfig:\n  onoins: {}\n", "instances/b.yaml": "x: 1\n"}, []string{
			"config/instances/a.yaml:1: id: must be between 1 and 4503599627370495, is -1",
			"config/instances/a.yaml:3: config.onoins: unknown key, known here: modules, onions",
			"config/instances/b.yaml:1: x: unknown key, known here: config, disabled, id, isolate, title",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.files)
			_, err := instance.Statics(c.Tree, c.Instances(), "modules.test-tenant")
			wantLines(t, err, tt.want...)
		})
	}
}

// What else is wrong with an instance is for the manager to find, in the same
// start.
func TestStaticsAfterFaults(t *testing.T) {
	c := load(t, files{"instances/acme.yaml": "tilte: Acme\nconfig:\n" + limitYAML("  ", "30"), "instances/beta.yaml": "id: 3\n"})
	statics, err := instance.Statics(c.Tree, c.Instances())
	if err == nil || len(statics) != 2 {
		t.Fatalf("Statics = %+v, %v, want two instances and an error", statics, err)
	}
	if !statics[0].Config.Has("onions", "interceptor", "test-tenant:limit") || statics[1].ID != 3 {
		t.Errorf("Statics = %+v", statics)
	}
}
