package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/onion"
)

// stopTimeout bounds the stopping of modules after the last request.
const stopTimeout = 10 * time.Second

// Start starts the modules in the order of their list, then the application is
// ready. If one fails, those before it are stopped again. What modules do after
// that (onion.AfterStarter) is done when Start returns.
func (a *App) Start(ctx context.Context) error {
	for i, m := range a.modules {
		s, ok := m.(onion.Starter)
		if !ok {
			continue
		}
		if err := s.Start(ctx); err != nil {
			err = fmt.Errorf("start module %s: %w", m.Name(), err)
			return errors.Join(err, a.stopModules(ctx, a.modules[:i]))
		}
	}
	a.state.SetReady()
	for _, m := range a.modules {
		if s, ok := m.(onion.AfterStarter); ok {
			if err := s.AfterStart(ctx); err != nil {
				a.env.Logger.Error("a hook after the start failed", "module", m.Name(), "error", err)
			}
		}
	}
	return nil
}

// Stop stops the modules in reverse order, so that what uses a service stops
// before the service does: the limiter before Redis (contract C10).
func (a *App) Stop(ctx context.Context) error {
	a.state.SetStopping()
	// The background work of instances uses the modules' services.
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return errors.Join(a.current.Load().instances.Stop(wait), a.stopModules(ctx, a.modules))
}

func (a *App) stopModules(ctx context.Context, modules []onion.Module) error {
	// Stopping must not be cut short by what caused it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(modules) {
		if s, ok := m.(onion.Stopper); ok {
			if err := s.Stop(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop module %s: %w", m.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// Serve listens at the configured address, starts the modules and serves until
// ctx is done; then it shuts down in the order of contract C10. listening, which
// may be nil, is told the base URL once the port is open.
func (a *App) Serve(ctx context.Context, listening func(base string)) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", a.server.Listen.Address())
	if err != nil {
		return fmt.Errorf("listen on %s (server.listen): %w", a.server.Listen.Address(), err)
	}
	return a.ServeOn(ctx, l, listening)
}

// ServeOn is Serve on a listener of the caller's, which it closes. The port
// answers while the modules start: health tells live from ready. While it serves,
// the configuration's files are followed: see Reload.
func (a *App) ServeOn(ctx context.Context, l net.Listener, listening func(base string)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := executor.NewServer(a.server.ServerConfig, a.exec)
	// What net/http has to say is about clients: broken handshakes, malformed
	// requests.
	server.ErrorLog = slog.NewLogLogger(a.env.Logger.Handler(), slog.LevelDebug)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if err := a.Start(ctx); err != nil {
		return errors.Join(err, server.Close())
	}
	for _, w := range a.Warnings() {
		a.env.Logger.Warn("warning of the check", "warning", w)
	}
	followed := a.follow(ctx)
	if listening != nil {
		listening("http://" + l.Addr().String())
	}
	select {
	case err := <-served:
		stop()
		<-followed
		return errors.Join(fmt.Errorf("serve: %w", err), a.Stop(ctx))
	case <-ctx.Done():
	}
	<-followed
	return a.shutdown(ctx, server, served)
}

// shutdown is contract C10: ready turns 503, the requests in flight finish, the
// modules stop.
func (a *App) shutdown(ctx context.Context, server *http.Server, served <-chan error) error {
	a.state.SetStopping()
	a.env.Logger.Info("shutting down")
	ctx = context.WithoutCancel(ctx)
	a.drain(ctx)
	wait, cancel := ctx, context.CancelFunc(func() {})
	limit := a.current.Load().sections.server.ShutdownTimeout()
	if limit > 0 {
		wait, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	err := server.Shutdown(wait)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still in flight after %v and are cut off: %w", limit, err), server.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, a.Stop(ctx))
}

// drain keeps serving for a while after ready has turned 503, so that what
// balances the load can hear of it.
func (a *App) drain(ctx context.Context) {
	ms := a.current.Load().sections.server.DrainMs
	if ms == 0 {
		return
	}
	t := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
