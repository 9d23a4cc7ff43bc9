package executor

import (
	"net"
	"net/http"
	"strconv"
	"time"
)

// ServerConfig is what this package reads of the section "server". Times are
// milliseconds; 0 means no bound.
type ServerConfig struct {
	// GlobalPrefix goes before the path of every route that does not say
	// otherwise (contract D5).
	GlobalPrefix string `koanf:"globalPrefix" validate:"omitempty,startswith=/,endsnotwith=/"`
	// SubdomainOffset is the number of labels of the application's own domain
	// (contract D1).
	SubdomainOffset int `koanf:"subdomainOffset" validate:"min=0,max=127"`
	// Listen is where the server listens.
	Listen ListenConfig `koanf:"listen"`
	// CompatAccept gives Vona's rule of the format wanted (contract C4).
	CompatAccept bool `koanf:"compatAccept"`

	// ReadHeaderTimeoutMs bounds the reading of a request's header.
	ReadHeaderTimeoutMs int `koanf:"readHeaderTimeoutMs" validate:"min=0"`
	// ReadTimeoutMs bounds the reading of a whole request.
	ReadTimeoutMs int `koanf:"readTimeoutMs" validate:"min=0"`
	// WriteTimeoutMs bounds a request from its header to the end of its
	// response. An action that streams extends it with an
	// http.ResponseController.
	WriteTimeoutMs int `koanf:"writeTimeoutMs" validate:"min=0"`
	// IdleTimeoutMs bounds the wait for the next request of a connection.
	IdleTimeoutMs int `koanf:"idleTimeoutMs" validate:"min=0"`
	// MaxHeaderBytes bounds a request's header: 431 above it.
	MaxHeaderBytes int `koanf:"maxHeaderBytes" validate:"min=1024,max=16777216"`
	// ShutdownTimeoutMs bounds the wait for requests in flight (contract C10).
	ShutdownTimeoutMs int `koanf:"shutdownTimeoutMs" validate:"min=0"`
}

// ListenConfig is a TCP address.
type ListenConfig struct {
	// Hostname is a name or address; empty means every address of the machine.
	Hostname string `koanf:"hostname"`
	// Port is 0 to 65535; 0 lets the system choose one.
	Port int `koanf:"port" validate:"min=0,max=65535"`
}

// Address is the address as net.Listen takes it.
func (l ListenConfig) Address() string {
	return net.JoinHostPort(l.Hostname, strconv.Itoa(l.Port))
}

// DefaultServerConfig is the section "server" where nothing is said.
func DefaultServerConfig() ServerConfig {
	return ServerConfig{
		GlobalPrefix:        "/api",
		SubdomainOffset:     2,
		Listen:              ListenConfig{Hostname: "127.0.0.1", Port: 7102},
		ReadHeaderTimeoutMs: 10_000,
		ReadTimeoutMs:       60_000,
		WriteTimeoutMs:      120_000,
		IdleTimeoutMs:       75_000,
		MaxHeaderBytes:      64 << 10,
		ShutdownTimeoutMs:   15_000,
	}
}

// ShutdownTimeout is ShutdownTimeoutMs as a duration.
func (c ServerConfig) ShutdownTimeout() time.Duration { return milliseconds(c.ShutdownTimeoutMs) }

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// ProxyConfig is the section "proxy": which hops may say who the client is
// (contract D4). By default none is.
type ProxyConfig struct {
	// Enabled makes the server read the header at all.
	Enabled bool `koanf:"enabled"`
	// Trusted lists the CIDRs, or addresses, of the trusted proxies.
	Trusted []string `koanf:"trusted"`
	// MaxProxyCount is the number of trusted hops, 1 to 64, where their
	// addresses are not known. Trusted and MaxProxyCount exclude each other.
	MaxProxyCount int `koanf:"maxProxyCount" validate:"min=0,max=64"`
	// Header is the one header that is read, a list of addresses. At most 64
	// elements are read, of at most 64 bytes each.
	Header string `koanf:"header"`
}

// DefaultProxyConfig is the section "proxy" where nothing is said.
func DefaultProxyConfig() ProxyConfig {
	return ProxyConfig{Header: "X-Forwarded-For"}
}

// Check says what is wrong with the section beyond its types.
func (c ProxyConfig) Check() error {
	_, err := newAddresses(c)
	return err
}

// NewServer makes the HTTP server of a configuration. It neither listens nor
// serves yet.
func NewServer(cfg ServerConfig, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              cfg.Listen.Address(),
		Handler:           handler,
		ReadHeaderTimeout: milliseconds(cfg.ReadHeaderTimeoutMs),
		ReadTimeout:       milliseconds(cfg.ReadTimeoutMs),
		WriteTimeout:      milliseconds(cfg.WriteTimeoutMs),
		IdleTimeout:       milliseconds(cfg.IdleTimeoutMs),
		MaxHeaderBytes:    cfg.MaxHeaderBytes,
		// "OPTIONS *" passes the system chain like any request (contract B3).
		DisableGeneralOptionsHandler: true,
	}
}
