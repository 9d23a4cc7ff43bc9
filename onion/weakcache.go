package onion

import (
	"runtime"
	"sync"
	"weak"
)

// weakCache shares values by key for as long as somebody uses them: what a
// reloaded instance no longer needs goes with the garbage, so memory follows the
// option sets in force and not their history.
type weakCache[V any] struct {
	mu     sync.Mutex
	values map[string]weak.Pointer[V]
}

// get finds the value of a key, or makes it. A failed make is not kept. Makes of
// one cache run one at a time, so each distinct value is made once.
func (c *weakCache[V]) get(key string, build func() (*V, error)) (*V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.values[key].Value(); v != nil {
		return v, nil
	}
	v, err := build()
	if err != nil {
		return nil, err
	}
	if c.values == nil {
		c.values = map[string]weak.Pointer[V]{}
	}
	c.values[key] = weak.Make(v)
	runtime.AddCleanup(v, c.forget, key)
	return v, nil
}

// forget drops a key whose value is gone, unless it was made anew meanwhile.
func (c *weakCache[V]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values[key].Value() == nil {
		delete(c.values, key)
	}
}

// size counts the values in use.
func (c *weakCache[V]) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}
