// Package ainstance keeps the records of instances in a database and tells all processes of an application when one changes.
//
// Its module takes the place of instance.Module in an application's list. It provides the services instance.Store, which the
// application uses from then on, and *Records, with which code changes, disables and reloads instances. An application that
// does not import it compiles no database driver.
package ainstance

import (
	"context"
	"errors"
	"fmt"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
)

// Module is the module a-instance with records: the onions of instance.Module, the section "database" (see Config), the
// services instance.Store and *Records. In the list of modules it stands after aredis.Module, if there is one; without it
// changes are told to no other process.
func Module() onion.Module {
	plain := instance.Module()
	return &module{Basic: onion.Basic{ModuleName: plain.Name(), ModuleOnions: plain.Onions()}, config: defaultConfig()}
}

type module struct {
	onion.Basic
	config  Config
	env     onion.Env
	store   *Store // nil before Provide
	records *Records
}

var (
	_ onion.Configurable = (*module)(nil)
	_ onion.Provider     = (*module)(nil)
	_ onion.Starter      = (*module)(nil)
	_ onion.Stopper      = (*module)(nil)
	_ onion.ReadyChecker = (*module)(nil)
)

// Config gives the section "database".
func (m *module) Config() map[string]any { return map[string]any{"database": &m.config} }

// Provide offers the services. It connects to nothing.
func (m *module) Provide(env onion.Env) error {
	store, err := Open(m.config)
	if err != nil {
		return err
	}
	live, err := onion.Service[*instance.Live](env)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	var client *aredis.Client
	clients, err := onion.Service[*aredis.Clients](env)
	switch {
	case err == nil:
		if client, err = clients.Client(aredis.Broadcast); err != nil {
			return errors.Join(err, store.Close())
		}
	case !errors.Is(err, onion.ErrNoService):
		return errors.Join(err, store.Close())
	}
	m.env, m.store = env, store
	m.records = newRecords(store, live, newNews(client, live, env.Logger), env.Clock)
	return errors.Join(onion.Provide[instance.Store](env, store), onion.Provide(env, m.records))
}

// Start prepares the database's tables and begins to listen for news. A database that is away is no error: what needs it is
// answered 503 until it is back, and the tables are prepared then.
func (m *module) Start(ctx context.Context) error {
	if m.store == nil {
		return fmt.Errorf("%s: started before it was provided", m.ModuleName)
	}
	if err := m.store.Prepare(ctx); err != nil {
		m.env.Logger.ErrorContext(ctx, "the database of instances is away; instances that are not in memory are answered 503 until it is back", "error", err)
	}
	if m.records.news.client == nil {
		m.env.Logger.InfoContext(ctx, "there is no module a-redis before this one: changed instances are told to no other process", "module", m.ModuleName)
	}
	m.records.news.start() //nolint:contextcheck // it goes on until Stop
	return nil
}

// Stop sends the news that are left, stops listening and closes the database.
func (m *module) Stop(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	return errors.Join(m.records.news.stop(ctx), m.store.Close())
}

// Ready fails until this process has once seen the database with its tables. Later outages do not make it unready: instances
// in memory go on being served, and an outage that all processes see must not take all of them out of service.
func (m *module) Ready(ctx context.Context) error {
	if m.store == nil {
		return nil
	}
	if err := m.store.Prepare(ctx); err != nil {
		return errors.New("the database of instances cannot be reached") // the cause may name hosts and users
	}
	return nil
}
