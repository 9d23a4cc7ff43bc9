package onion

// Probe is what an application tells of its own life. The application provides
// it as a service (Provide[Probe]); a-core:health asks it.
type Probe interface {
	// Started reports whether the application has finished starting.
	Started() bool
	// Draining reports whether it has begun to shut down (contract C10).
	Draining() bool
	// Checks are the modules that take part in being ready.
	Checks() []ReadyCheck
}

// ReadyCheck is one module's part in being ready.
type ReadyCheck struct {
	// Module is the module's name.
	Module string
	ReadyChecker
}
