//go:build unix

package aredis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/internal/redistest"
)

// A proxy that speaks TLS stands before a real server, because not every redis-server is built with it.
func TestTLS(t *testing.T) {
	server := redistest.Start(t)
	cert, certFile, keyFile := newCertificate(t, "redis.test")
	_, otherFile, _ := newCertificate(t, "redis.test")
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	addr := terminate(t, server.Addr(), &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: roots, ClientAuth: tls.VerifyClientCertIfGiven})
	mutual := terminate(t, server.Addr(), &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert})
	tests := []struct {
		name, addr string
		tls        *TLS
		want       string // in the error
	}{
		{"right", addr, &TLS{CAFile: &certFile, ServerName: new("redis.test")}, ""},
		{"unknown authority", addr, &TLS{CAFile: &otherFile, ServerName: new("redis.test")}, "unknown authority"},
		{"the machine's authorities", addr, &TLS{ServerName: new("redis.test")}, "unknown authority"},
		{"other name", addr, &TLS{CAFile: &certFile, ServerName: new("other.test")}, "other.test"},
		{"the host's name", addr, &TLS{CAFile: &certFile}, "127.0.0.1"},
		{"certificate shown", mutual, &TLS{CAFile: &certFile, ServerName: new("redis.test"), CertFile: &certFile, KeyFile: &keyFile}, ""},
		{"none shown", mutual, &TLS{CAFile: &certFile, ServerName: new("redis.test")}, "certificate"},
		{"turned off", server.Addr(), &TLS{Enabled: new(false)}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := Connection{TLS: &TLS{CAFile: &otherFile}, TimeoutMs: new(5000), DialTimeoutMs: new(5000)}
			client := at(t, tt.addr)
			client.TLS = tt.tls
			if tt.tls.CAFile == nil {
				base.TLS = nil
			}
			c := get(t, start(t, Config{Base: base, Clients: map[string]ClientConfig{Cache: {Connection: client}}}), Cache)
			err := c.Redis.Ping(t.Context()).Err()
			if tt.want == "" && err != nil {
				t.Errorf("PING = %v", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("PING = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// newCertificate makes one that is its own authority.
func newCertificate(t *testing.T, name string) (cert tls.Certificate, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if cert, err = tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	return cert, certFile, keyFile
}

// terminate passes on to the target what it is told in TLS, and returns where.
func terminate(t *testing.T, target string, cfg *tls.Config) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				running.Go(func() {
					_, _ = io.Copy(way[1], way[0])
					client.Close()
					server.Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}
