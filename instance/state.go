package instance

import "sync/atomic"

// State tells how far the application is. The application provides it as the
// service *State and sets it; a-instance:app and health checks read it. It
// begins as neither ready nor stopping.
type State struct {
	ready    atomic.Bool
	stopping atomic.Bool
}

// SetReady says that all modules have started: requests are served from now on.
func (s *State) SetReady() { s.ready.Store(true) }

// SetStopping says that the application is about to stop: requests are still
// served, but health checks should send no new ones (contract C10).
func (s *State) SetStopping() { s.stopping.Store(true) }

// Started reports whether the application has ever been ready.
func (s *State) Started() bool { return s.ready.Load() }

// Stopping reports whether the application is about to stop.
func (s *State) Stopping() bool { return s.stopping.Load() }

// Ready reports whether new requests are welcome: started and not stopping.
func (s *State) Ready() bool { return s.ready.Load() && !s.stopping.Load() }
