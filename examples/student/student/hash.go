package student

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"runtime"

	"golang.org/x/crypto/argon2"
)

// The cost of a password: what OWASP's cheat sheet asks of Argon2id at the least.
const (
	hashPasses  = 2
	hashMemory  = 19 << 10 // KiB
	hashThreads = 1
	hashBytes   = 32
	saltBytes   = 16
)

// hash is a password that cannot be read back.
type hash struct{ salt, sum []byte }

// hasher computes hashes, as many at a time as there are CPUs: each takes 19 MiB, and callers wait instead of filling the
// memory.
type hasher chan struct{}

func newHasher() hasher { return make(hasher, runtime.GOMAXPROCS(0)) }

// hash makes a hash with a new salt.
func (h hasher) hash(ctx context.Context, password string) (hash, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	sum, err := h.sum(ctx, password, salt)
	return hash{salt, sum}, err
}

// matches computes the same whatever the password and the hash are, and compares in constant time.
func (h hasher) matches(ctx context.Context, password string, want hash) (bool, error) {
	sum, err := h.sum(ctx, password, want.salt)
	return err == nil && subtle.ConstantTimeCompare(sum, want.sum) == 1, err
}

// sum is Argon2id. Its error is that of ctx, whose call ended while it waited for its turn.
func (h hasher) sum(ctx context.Context, password string, salt []byte) ([]byte, error) {
	select {
	case h <- struct{}{}:
		defer func() { <-h }()
		return argon2.IDKey([]byte(password), salt, hashPasses, hashMemory, hashThreads, hashBytes), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
