package aredis

import "github.com/vonago/vonago/onion"

// Config is the section "redis" of the configuration. A client's settings are merged, low to high, from: the defaults told
// at Connection; base; the client's own defaults (limiter: timeoutMs 100, retries 0); clients.<name>. The client's own
// defaults stand above base, so that a longer timeout meant for the others does not slow the limiter down (contract A11).
type Config struct {
	// Embedded starts a Redis server inside the process and sends every client there, whatever base and clients say of
	// hosts, users and TLS. It is for development: refused in mode prod, and its data ends with the process.
	Embedded bool `koanf:"embedded"`
	// Base is what all clients have in common.
	Base Connection `koanf:"base"`
	// Clients are the settings of single clients, by name.
	Clients map[string]ClientConfig `koanf:"clients" validate:"dive"`

	names []string // of further clients, which the application says in code
}

var _ onion.SectionChecker = Config{}

// Check tells what the types of the section cannot, of the files that it names too (onion.SectionChecker).
func (c Config) Check(env onion.Env) error {
	_, err := settle(env, c)
	return err
}

// ClientConfig is what clients.<name> says of one client.
type ClientConfig struct {
	Connection
	// KeyPrefix stands before every key of the client (contract P5): true, the default, is "<client>_<app>:" in mode prod
	// and "<client>_<app>_local:" in dev and test; a text stands for itself; false is none.
	KeyPrefix any `koanf:"keyPrefix"`
}

// Connection says where Redis is and how to speak to it. A field that is nil was not said and is taken from the layer below.
//
// Where it is comes in three forms, which exclude each other within a layer: host and port (one server), nodes (Redis
// Cluster), sentinels and name (a master watched by Redis Sentinel). A layer that says one form drops the others of the
// layers below.
type Connection struct {
	// Host is a name or an IP address without port; 127.0.0.1 if nothing is said.
	Host *string `koanf:"host"`
	// Port is 1 to 65535; 6379 if nothing is said.
	Port *int `koanf:"port" validate:"omitempty,min=1,max=65535"`
	// Nodes are some nodes of a cluster as host:port; the others are learnt from them. A cluster has database 0 only.
	Nodes []string `koanf:"nodes" validate:"omitempty,min=1"`
	// Sentinels are some sentinels as host:port; the others are learnt from them.
	Sentinels []string `koanf:"sentinels" validate:"omitempty,min=1"`
	// Name is what the sentinels call the master.
	Name *string `koanf:"name" validate:"omitempty,min=1"`

	// Username and Password sign in to the servers. Without a username it is the user "default".
	Username *string   `koanf:"username"`
	Password *Password `koanf:"password"`
	// SentinelUsername and SentinelPassword sign in to the sentinels.
	SentinelUsername *string   `koanf:"sentinelUsername"`
	SentinelPassword *Password `koanf:"sentinelPassword"`
	// DB is the number of the database, 0 if nothing is said.
	DB *int `koanf:"db" validate:"omitempty,min=0"`
	// TLS, given, turns TLS on for servers, nodes and sentinels.
	TLS *TLS `koanf:"tls"`

	// TimeoutMs bounds each command, in milliseconds, 1 to 60000: see Client. 1000 if nothing is said.
	TimeoutMs *int `koanf:"timeoutMs" validate:"omitempty,min=1,max=60000"`
	// DialTimeoutMs bounds the making of a connection, TLS included, in milliseconds, 1 to 60000; 500 if nothing is said. A
	// command does not wait for it longer than for anything else: the connection is then made for the commands after it.
	DialTimeoutMs *int `koanf:"dialTimeoutMs" validate:"omitempty,min=1,max=60000"`
	// PoolSize is the highest number of connections, per node in a cluster, 1 to 10000; 10 per CPU if nothing is said.
	PoolSize *int `koanf:"poolSize" validate:"omitempty,min=1,max=10000"`
	// Retries is how often a command is sent again when its reply was lost or not to be used, 0 to 10; 0 if nothing is said.
	// A command that was executed and whose reply was lost is then executed twice, so the limiter has none (contract A7).
	Retries *int `koanf:"retries" validate:"omitempty,min=0,max=10"`
}

// TLS says how a server is to be trusted. TLS 1.2 is the lowest version; the certificate is always verified.
type TLS struct {
	// Enabled, false, turns TLS off again for a client whose base has it.
	Enabled *bool `koanf:"enabled"`
	// ServerName is the name to verify the certificate for; the host's if nothing is said.
	ServerName *string `koanf:"serverName" validate:"omitempty,min=1"`
	// CAFile holds the certificates of the authorities to trust, in PEM; the machine's own if nothing is said.
	CAFile *string `koanf:"caFile" validate:"omitempty,min=1"`
	// CertFile and KeyFile are the certificate and key, in PEM, to show to a server that asks for them.
	CertFile *string `koanf:"certFile" validate:"omitempty,min=1"`
	KeyFile  *string `koanf:"keyFile" validate:"omitempty,min=1"`
}
