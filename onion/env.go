package onion

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"
)

// Mode is the mode an application runs in.
type Mode string

// The modes of Vona.
const (
	ModeDev  Mode = "dev"
	ModeTest Mode = "test"
	ModeProd Mode = "prod"
)

// Clock tells the time. Tests inject their own.
type Clock interface {
	Now() time.Time
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Env is what a build and a module see of the application.
type Env struct {
	// AppName is the application's name: issuer of tokens, part of Redis keys.
	AppName string
	Mode    Mode
	Flavor  string
	Logger  *slog.Logger
	Clock   Clock

	services *services
}

// NewEnv makes an environment without services. A nil logger or clock means
// slog's default and the system clock.
func NewEnv(app string, mode Mode, flavor string, logger *slog.Logger, clock Clock) Env {
	if logger == nil {
		logger = slog.Default() //nolint:forbidigo // this is where the environment's logger comes from
	}
	if clock == nil {
		clock = SystemClock{}
	}
	return Env{AppName: app, Mode: mode, Flavor: flavor, Logger: logger, Clock: clock,
		services: &services{byType: map[reflect.Type]any{}}}
}

// Production reports whether errors must hide their text.
func (e Env) Production() bool { return e.Mode == ModeProd }

type services struct {
	mu     sync.RWMutex
	byType map[reflect.Type]any
}

// Provide makes v the service of type T. Modules call it from their Provide
// hook, before any onion is built. A second service of one type is an error.
func Provide[T any](env Env, v T) error {
	key := reflect.TypeFor[T]()
	env.services.mu.Lock()
	defer env.services.mu.Unlock()
	if _, ok := env.services.byType[key]; ok {
		return fmt.Errorf("service %v is provided twice", key)
	}
	env.services.byType[key] = v
	return nil
}

// ErrNoService is what a service that no module provides comes to. Where a module
// failed to provide, it is a mere consequence.
var ErrNoService = errors.New("no module provides the service")

// Service finds the service of type T; ErrNoService if no module provided it.
func Service[T any](env Env) (T, error) {
	key := reflect.TypeFor[T]()
	env.services.mu.RLock()
	defer env.services.mu.RUnlock()
	v, ok := env.services.byType[key]
	if !ok {
		var zero T
		return zero, fmt.Errorf("%w %v", ErrNoService, key)
	}
	return v.(T), nil //nolint:forcetypeassert // Provide stored it under its own type
}
