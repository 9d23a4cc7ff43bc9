// Package instance gives a request its tenant.
//
// A [Resolver] reads the instance name out of a request (contract D1). A
// [Manager] turns the name into an [Instance]: it knows the static instances of
// the configuration, finds or registers the record of each in a [Store], and
// makes the option set of the effective configuration: application, static
// instance, stored record, low to high (contract D3). The system middleware
// a-instance:app and a-instance:instance admit only requests whose application
// and instance are ready (contract C8).
package instance
