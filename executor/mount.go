package executor

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/vonago/vonago/onion"
)

// Mount is an ordinary HTTP handler below a path, for static files and the like.
// It is reached through the system chain (contract B3) but has no route, and
// gets what no route has. It sees the request's path unchanged and writes its
// response itself.
type Mount struct {
	// Prefix is the path of the handler and of everything below it: "/static"
	// and "/static/" mean the same, "/" means every path.
	Prefix  string
	Handler http.Handler
}

// mounts are the mounted handlers, longest prefix first.
type mounts []mounted

type mounted struct {
	segments []string
	handler  http.Handler
}

func newMounts(list []Mount) (mounts, error) {
	m := make(mounts, 0, len(list))
	for _, one := range list {
		if !strings.HasPrefix(one.Prefix, "/") || one.Handler == nil {
			return nil, fmt.Errorf("mount %q: want a path that begins with a slash, and a handler", one.Prefix)
		}
		segments := strings.Split(strings.TrimSuffix(one.Prefix, "/"), "/")[1:]
		if slices.ContainsFunc(m, func(other mounted) bool { return slices.Equal(other.segments, segments) }) {
			return nil, fmt.Errorf("mount %q: the path is mounted twice", one.Prefix)
		}
		m = append(m, mounted{segments, one.Handler})
	}
	slices.SortStableFunc(m, func(a, b mounted) int { return len(b.segments) - len(a.segments) })
	return m, nil
}

// find gives the handler of a path, nil if there is none.
func (m mounts) find(path string) http.Handler {
	for i := range m {
		if m[i].covers(path) {
			return m[i].handler
		}
	}
	return nil
}

// covers compares segment by segment, each decoded once, as the router does.
func (m *mounted) covers(path string) bool {
	rest, more := strings.CutPrefix(path, "/")
	for _, want := range m.segments {
		if !more {
			return false
		}
		var text string
		text, rest, more = strings.Cut(rest, "/")
		if strings.IndexByte(text, '%') >= 0 {
			text, _ = unescape(text) // the router has decoded it all
		}
		if text != want {
			return false
		}
	}
	return true
}

// serve passes a call to a mounted handler.
func serveMounted(ctx context.Context, c *onion.Call, h http.Handler) {
	r := c.Request.WithContext(ctx)
	r.Method = c.Method
	h.ServeHTTP(c.Response.Writer, r)
	if c.Response.Written.Status == 0 {
		c.Response.Writer.WriteHeader(http.StatusOK)
	}
}
