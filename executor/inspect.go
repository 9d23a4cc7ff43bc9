package executor

import "github.com/vonago/vonago/onion"

// Route finds the route that a method and a path, percent-encoded as it would be
// sent, lead to; nil if there is none. It is for explanations: mounts and the
// system chain are not asked.
func (e *Executor) Route(method, path string) *onion.RouteInfo {
	f, err := e.runtime.Load().router.find(method, path, nil)
	if err != nil {
		return nil
	}
	return f.route
}
