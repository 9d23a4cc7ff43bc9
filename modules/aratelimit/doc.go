// Package aratelimit is the module a-ratelimit: two independent admission
// controls that count in Redis (contract chapters A, B and B').
//
// RateLimit, the interceptor a-ratelimit:rateLimit, counts each caller at each
// route, after the passport guard knows the caller and before the body is read.
// Aggregate, the system middleware a-ratelimit:aggregate, counts every request
// that reaches the application, in windows of one second.
//
// A request takes the same way through both: build the counter key, let the
// Counter add one to it, let the control judge the count, and answer.
package aratelimit
