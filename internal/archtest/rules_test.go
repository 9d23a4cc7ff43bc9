package archtest

// edge allows one package of the project to import another. Both are paths below the module's; "x/..." is x and all below
// it, "..." is every package.
type edge struct{ from, to, reason string }

// edges are the floors: who may import whom. Packages need not exist yet.
var edges = []edge{
	// Floor 1, on onion and config, which never import each other.
	{"instance", "onion", "its two onions, and the effective options of an instance are onion's layers"},
	{"instance", "config", "static instances and the parts that override application config are config"},
	{"passport", "onion", "its guards and decorators are onion's"},

	{"instance/storetest", "instance", "the conformance suite of instance's record stores"},

	// Floor 2.
	{"executor", "onion", "it runs the chains that onion compiles"},
	{"executor", "instance", "every request begins with the look-up of its instance"},
	{"executor", "passport", "PerformAction inherits the caller, and arguments can be the user"},

	// Floor 3, modules: they share the floors below, and edges between them are few and named.
	{"modules/aredis", "onion", "a module is a value of onion"},
	{"modules/aredis", "instance", "floor 3 stands on floor 1"},
	{"modules/aratelimit", "onion", "a module is a value of onion"},
	{"modules/aratelimit", "instance", "counter keys carry the instance's name"},
	{"modules/aratelimit", "passport", "the identity that is counted"},
	{"modules/aratelimit", "modules/aredis", "the limiter's Redis client and key prefix"},
	{"modules/acore", "onion", "a module is a value of onion"},
	{"modules/acore", "instance", "log lines name the instance"},
	{"modules/acore", "passport", "log lines and the gate know the caller"},
	{"modules/acore", "modules/aratelimit", "acore.RateLimit is the decorator that Vona has in a-core"},
	{"modules/auser", "onion", "a module is a value of onion"},
	{"modules/auser", "instance", "the token store's keys carry the instance"},
	{"modules/auser", "passport", "it implements passport's token store"},
	{"modules/auser", "modules/aredis", "the cache Redis client, in which tokens are stored"},
	{"modules/ainstance", "onion", "a module is a value of onion"},
	{"modules/ainstance", "instance", "it implements instance's record store"},
	{"modules/ainstance", "modules/aredis", "the broadcast Redis client"},

	// Floor 4: the application knows modules as values only.
	{"app", "onion", "it collects, checks and compiles what the modules declare"},
	{"app", "config", "it loads the configuration"},
	{"app", "instance", "it builds the instances"},
	{"app", "passport", "it provides the token verifier"},
	{"app", "executor", "it serves with it"},

	// Floor 5: programs put everything together.
	{"cmd/...", "...", "a program chooses its modules"},
	{"examples/...", "...", "a program chooses its modules"},
	{"internal/testapp/...", "...", "the application of the end-to-end tests chooses its modules"},
	{"internal/soak", "...", "it runs the application of the end-to-end tests under faults"},
}

// third allows packages to import a third-party module, given by a prefix of import paths.
type third struct {
	module  string
	leaves  []string // as in edge
	reasons string
}

// thirds are the leaves at which third parties live. What only tests import is not listed: tests are not read.
var thirds = []third{
	{"github.com/redis/go-redis/v9", []string{"modules/aredis", "modules/aratelimit", "modules/ainstance", "modules/auser", "internal/redistest"},
		"aredis makes the clients, the limiter's counter is a script, news of instances are a subscription, sign-ins are keys; " +
			"the test helper looks at servers"},
	{"github.com/alicebob/miniredis/v2", []string{"modules/aredis"}, "the embedded server for development"},
	{"github.com/sony/gobreaker/v2", []string{"modules/aratelimit"}, "the limiter's breaker"},
	{"github.com/knadh/koanf", []string{"config"}, "layers of configuration"},
	{"github.com/fsnotify/fsnotify", []string{"config"}, "configuration files are watched"},
	{"go.yaml.in/yaml/v3", []string{"config"}, "YAML, and the lines at which its values stand"},
	{"github.com/go-viper/mapstructure/v2", []string{"config"}, "typed sections"},
	{"github.com/go-playground/validator/v10", []string{"config", "modules/acore"}, "typed sections; a-web:valid"},
	{"github.com/golang-jwt/jwt/v5", []string{"passport"}, "tokens"},
	{"github.com/lmittmann/tint", []string{"app"}, "the logger of development is made there"},
	{"go.opentelemetry.io/otel", []string{"modules/aratelimit", "modules/acore"}, "where metrics are made; the API, never an SDK"},
	{"github.com/jackc/pgx/v5", []string{"modules/ainstance", "internal/pgtest"},
		"only applications with that module compile a driver; the test helper looks at servers"},
	{"modernc.org/sqlite", []string{"modules/ainstance"}, "only applications with that module compile a driver"},
	{"github.com/pressly/goose/v3", []string{"modules/ainstance"}, "migrations of the record store"},
	{"golang.org/x/crypto", []string{"examples/..."}, "the example hashes its users' passwords"},
}

// unwanted are packages of the standard library that no package of the project imports.
var unwanted = map[string]string{
	"expvar":         "it registers a handler for the whole process",
	"log":            "everything is logged through log/slog",
	"net/http/pprof": "it registers handlers for the whole process; docs say how to profile",
}

// Habits.
const maxLines = 400 // of a file that is not a test: more is rarely one idea

// vagueNames are package names that say nothing of what is inside.
var vagueNames = []string{"util", "utils", "helper", "helpers", "common", "misc", "shared"}

// openWords mark work that was left open. They are put together here, so that this file does not contain them.
var openWords = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "not " + "implemented"}
