// Package aredis is the module a-redis: named Redis clients out of one section of the configuration, with settings that
// suit an admission control, and a server inside the process for development.
//
// A module that needs Redis asks the service *Clients for a client by name and puts Client.Key around its keys. What the
// clients promise is told at Client and, for operators, in docs/redis-guide.md.
package aredis

import (
	"context"
	"fmt"

	"github.com/vonago/vonago/onion"
)

// ModuleName is the module's name among the application's modules.
const ModuleName = "a-redis"

// Module is the module a-redis. It reads the section "redis" (see Config) and provides the service *Clients. The names are
// those of further clients that the application uses beside default, limiter, cache and broadcast; a client of another name,
// in the configuration or in code, is an error, so that a misspelt one cannot go unnoticed.
func Module(names ...string) onion.Module {
	return &module{Basic: onion.Basic{ModuleName: ModuleName}, config: Config{names: names}}
}

type module struct {
	onion.Basic
	config  Config
	clients *Clients // nil before Provide
}

var (
	_ onion.Configurable = (*module)(nil)
	_ onion.Provider     = (*module)(nil)
	_ onion.Starter      = (*module)(nil)
	_ onion.Stopper      = (*module)(nil)
	_ onion.ReadyChecker = (*module)(nil)
)

// Config gives the section "redis".
func (m *module) Config() map[string]any { return map[string]any{"redis": &m.config} }

// Provide offers the clients. It connects to nothing.
func (m *module) Provide(env onion.Env) error {
	clients, err := NewClients(env, m.config)
	if err != nil {
		return err
	}
	m.clients = clients
	return onion.Provide(env, clients)
}

// Start starts the embedded server if there is to be one.
func (m *module) Start(ctx context.Context) error {
	if m.clients == nil {
		return fmt.Errorf("%s: started before it was provided", ModuleName)
	}
	return m.clients.Start(ctx)
}

// Stop closes the clients, then the embedded server.
func (m *module) Stop(ctx context.Context) error {
	if m.clients == nil {
		return nil
	}
	return m.clients.Stop(ctx)
}

// Ready asks every client that is in use.
func (m *module) Ready(ctx context.Context) error {
	if m.clients == nil {
		return nil
	}
	return m.clients.Ready(ctx)
}
