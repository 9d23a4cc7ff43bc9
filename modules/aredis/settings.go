package aredis

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vonago/vonago/onion"
)

// The clients that every application has. What each is for is told in docs/redis-guide.md.
const (
	Default   = "default"
	Limiter   = "limiter"
	Cache     = "cache"
	Broadcast = "broadcast"
)

// settings is all there is to know of one client, merged and checked.
type settings struct {
	name, prefix string
	Connection   // merged; the fields that have a default are not nil
	tls          *tls.Config
}

func (s settings) timeout() time.Duration { return time.Duration(*s.TimeoutMs) * time.Millisecond }
func (s settings) dialTimeout() time.Duration {
	return time.Duration(*s.DialTimeoutMs) * time.Millisecond
}

// settle merges and checks what the configuration says of each client; the error holds every fault, by path.
func settle(env onion.Env, cfg Config) (map[string]settings, error) {
	names := append([]string{Default, Limiter, Cache, Broadcast}, cfg.names...)
	slices.Sort(names)
	names = slices.Compact(names)
	var errs []error
	if cfg.Embedded && env.Mode == onion.ModeProd {
		errs = append(errs, errors.New("redis.embedded: must not be true in mode prod: its data is shared with no other process "+
			"and lost at exit; say in redis.base where Redis is"))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Clients)) {
		if !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("redis.clients.%s: unknown client, known are %s; an application names its own with aredis.Module(%q)",
				name, strings.Join(names, ", "), name))
		}
	}
	if env.AppName == "" {
		errs = append(errs, errors.New("app.name: must not be empty: the names of keys in Redis begin with it"))
	}
	base := merge(general(), cfg.Base)
	_, err := base.TLS.load()
	if err = errors.Join(base.check("redis.base"), inPath("redis.base.tls", err)); err != nil {
		errs = append(errs, err)
		base = general() // or every client would repeat the fault
	}

	out := map[string]settings{}
	for _, name := range names {
		path, said := "redis.clients."+name, cfg.Clients[name]
		s := settings{name: name, Connection: merge(merge(base, own(name)), said.Connection)}
		errs = append(errs, s.check(path))
		if name == Limiter && *s.Retries != 0 {
			errs = append(errs, fmt.Errorf("%s.retries: must be 0, is %d: a counter must not be increased twice by one attempt", path, *s.Retries))
		}
		s.prefix, err = prefix(name, env, said.KeyPrefix)
		errs = append(errs, inPath(path+".keyPrefix", err))
		s.tls, err = s.TLS.load()
		errs = append(errs, inPath(path+".tls", err))
		out[name] = s
	}
	return out, errors.Join(errs...)
}

func inPath(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// general is what holds where nothing is said.
func general() Connection {
	return Connection{
		Host: new("127.0.0.1"), Port: new(6379), DB: new(0),
		TimeoutMs: new(1000), DialTimeoutMs: new(500), PoolSize: new(10 * runtime.GOMAXPROCS(0)), Retries: new(0),
	}
}

// own is what holds for one client where nothing is said of that client.
func own(name string) Connection {
	if name == Limiter {
		return Connection{TimeoutMs: new(100), Retries: new(0)}
	}
	return Connection{}
}

// merge lays high over low. Fields are taken singly, but the forms of where Redis is exclude each other.
func merge(low, high Connection) Connection {
	switch {
	case high.Host != nil:
		low.Nodes, low.Sentinels, low.Name = nil, nil, nil
	case high.Nodes != nil:
		low.Host, low.Port, low.Sentinels, low.Name = nil, nil, nil, nil
	case high.Sentinels != nil:
		low.Host, low.Port, low.Nodes = nil, nil, nil
	}
	return Connection{
		Host: cmp.Or(high.Host, low.Host), Port: cmp.Or(high.Port, low.Port),
		Nodes: or(high.Nodes, low.Nodes), Sentinels: or(high.Sentinels, low.Sentinels), Name: cmp.Or(high.Name, low.Name),
		Username: cmp.Or(high.Username, low.Username), Password: cmp.Or(high.Password, low.Password),
		SentinelUsername: cmp.Or(high.SentinelUsername, low.SentinelUsername),
		SentinelPassword: cmp.Or(high.SentinelPassword, low.SentinelPassword),
		DB:               cmp.Or(high.DB, low.DB), TLS: mergeTLS(low.TLS, high.TLS),
		TimeoutMs: cmp.Or(high.TimeoutMs, low.TimeoutMs), DialTimeoutMs: cmp.Or(high.DialTimeoutMs, low.DialTimeoutMs),
		PoolSize: cmp.Or(high.PoolSize, low.PoolSize), Retries: cmp.Or(high.Retries, low.Retries),
	}
}

func or(high, low []string) []string {
	if high != nil {
		return high
	}
	return low
}

func mergeTLS(low, high *TLS) *TLS {
	if low == nil || high == nil {
		return cmp.Or(high, low)
	}
	return &TLS{
		Enabled: cmp.Or(high.Enabled, low.Enabled), ServerName: cmp.Or(high.ServerName, low.ServerName), CAFile: cmp.Or(high.CAFile, low.CAFile),
		CertFile: cmp.Or(high.CertFile, low.CertFile), KeyFile: cmp.Or(high.KeyFile, low.KeyFile),
	}
}

// check tells what is wrong with a merged connection. No text of an address is repeated: it may have a password in it.
func (c Connection) check(path string) error {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s.%s: %s", path, field, fmt.Sprintf(format, args...)))
	}
	switch {
	case c.Nodes != nil && c.Sentinels != nil:
		fail("nodes", "there are sentinels too: say nodes (a cluster) or sentinels, not both")
	case c.Nodes != nil && (c.Host != nil || c.Port != nil):
		fail("nodes", "there is a host or port too: say nodes (a cluster) or host and port (one server), not both")
	case c.Sentinels != nil && (c.Host != nil || c.Port != nil):
		fail("sentinels", "there is a host or port too: say sentinels or host and port (one server), not both")
	case c.Sentinels != nil && (c.Name == nil || *c.Name == ""):
		fail("name", "must be given: it is what the sentinels call the master")
	case c.Sentinels == nil && c.Name != nil:
		fail("name", "goes with sentinels, and there are none")
	}
	if c.Host != nil && !isHost(*c.Host) {
		fail("host", "must be a name or an IP address, without scheme, port or password")
	}
	checkAddrs := func(field string, addrs []string) {
		if addrs != nil && len(addrs) == 0 {
			fail(field, "must have at least one address")
		}
		for i, addr := range addrs {
			if !isAddr(addr) {
				fail(fmt.Sprintf("%s[%d]", field, i), "must be host:port, without scheme or password")
			}
		}
	}
	checkAddrs("nodes", c.Nodes)
	checkAddrs("sentinels", c.Sentinels)
	if c.Nodes != nil && *c.DB != 0 {
		fail("db", "must be 0, is %d: a cluster has no other database", *c.DB)
	}
	return errors.Join(errs...)
}

// isHost keeps out what belongs elsewhere: a scheme, a port, a password.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return s != "" && !strings.ContainsAny(s, ":/@?#[] \t\r\n")
}

func isAddr(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && isHost(host)
}

// prefix is the rule of contract P5.
func prefix(client string, env onion.Env, said any) (string, error) {
	switch v := said.(type) {
	case string:
		if v == "" {
			return "", errors.New("must not be empty; false is for none")
		}
		return v, nil
	case bool:
		if !v {
			return "", nil
		}
	case nil: // true unless said otherwise
	default:
		return "", fmt.Errorf("must be true, false or a text, is %v", said)
	}
	if env.Mode == onion.ModeProd {
		return client + "_" + env.AppName + ":", nil
	}
	return client + "_" + env.AppName + "_local:", nil
}

// load reads the files; nil is no TLS.
func (t *TLS) load() (*tls.Config, error) {
	if t == nil || t.Enabled != nil && !*t.Enabled {
		return nil, nil //nolint:nilnil // none is what nil says to go-redis too
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ServerName != nil {
		out.ServerName = *t.ServerName
	}
	if t.CAFile != nil {
		text, err := os.ReadFile(*t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("caFile: no certificate in PEM in %s", *t.CAFile)
		}
	}
	if (t.CertFile == nil) != (t.KeyFile == nil) {
		return nil, errors.New("certFile and keyFile go together, one is missing")
	}
	if t.CertFile != nil {
		pair, err := tls.LoadX509KeyPair(*t.CertFile, *t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certFile and keyFile: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
