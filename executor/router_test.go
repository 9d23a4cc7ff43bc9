package executor

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// routesOf makes routes of lines "METHOD path"; each says where it stands.
func routesOf(lines ...string) []*onion.RouteInfo {
	routes := make([]*onion.RouteInfo, len(lines))
	for i, line := range lines {
		method, path, _ := strings.Cut(line, " ")
		routes[i] = &onion.RouteInfo{
			Index: i, Method: method, Path: path, Bean: "demo-x.controller.c", Action: fmt.Sprintf("a%d", i), Where: fmt.Sprintf("x.go:%d", i+1),
		}
	}
	return routes
}

func mustRouter(t testing.TB, lines ...string) *router {
	t.Helper()
	r, err := newRouter(routesOf(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func show(f found) string {
	if f.route == nil {
		if f.others != 0 {
			return "405 " + f.others.allow()
		}
		return "404"
	}
	text := f.route.Path
	for _, p := range f.params {
		text += " " + p.Name + "=" + p.Value
	}
	return text
}

func TestRouterFind(t *testing.T) {
	r := mustRouter(t,
		"GET /", "GET /a", "GET /a/b", "GET /a/:id", "POST /a/:name", "POST /a/x", "GET /a/:id/tail",
		"GET /opt/:id?", "GET /rest/*", "PUT /rest/:a/b", "GET /rest/fixed/b", "GET //double", "GET /slash/",
		"GET /café/:x", "DELETE /deep/:a/:b/:c", "GET /deep/one/*",
	)
	tests := []struct{ method, path, want string }{
		{"GET", "/", "/"},
		{"GET", "/a", "/a"},
		{"GET", "/a/b", "/a/b"},
		{"GET", "/a/c", "/a/:id id=c"},
		{"HEAD", "/a/c", "/a/:id id=c"},
		{"POST", "/a/c", "/a/:name name=c"},
		{"POST", "/a/b", "/a/:name name=b"}, // the literal has no POST
		{"GET", "/a/x", "/a/:id id=x"},      // the literal has no GET
		{"PUT", "/a/x", "405 GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/a", "405 GET, HEAD, OPTIONS"},
		{"TRACE", "/a", "405 GET, HEAD, OPTIONS"},
		{"get", "/a", "405 GET, HEAD, OPTIONS"},  // methods are case-sensitive
		{"GET", "/a/b/tail", "/a/:id/tail id=b"}, // back from the literal
		{"GET", "/a/b/tail/", "404"},
		{"GET", "/a/", "404"}, // no empty parameter
		{"GET", "//a", "404"}, {"GET", "/a//b", "404"}, {"GET", "/A", "404"}, {"GET", "/a/../a", "404"}, {"GET", "/./a", "404"},
		{"GET", "/a/..", "/a/:id id=.."}, // a value like any other
		{"GET", "/%61", "/a"},            // decoded once
		{"GET", "/%2561", "404"},
		{"GET", "/a/b%2Fc", "/a/:id id=b/c"}, // an escaped slash stays inside
		{"GET", "/a%2Fb", "404"},
		{"GET", "/a/%2541", "/a/:id id=%41"},
		{"GET", "/a/b+c;v=1", "/a/:id id=b+c;v=1"},
		{"GET", "/opt", "/opt/:id?"}, {"GET", "/opt/", "/opt/:id?"}, {"GET", "/opt/1", "/opt/:id? id=1"}, {"GET", "/opt/1/", "404"}, {"GET", "/opt//", "404"},
		{"GET", "/rest", "/rest/* *="}, {"GET", "/rest/", "/rest/* *="}, {"GET", "/rest/x/y//z/", "/rest/* *=x/y//z/"},
		{"GET", "/rest/a%2Fb/c", "/rest/* *=a/b/c"},
		{"GET", "/rest/fixed/b", "/rest/fixed/b"}, {"GET", "/rest/fixed/c", "/rest/* *=fixed/c"},
		{"PUT", "/rest/x/b", "/rest/:a/b a=x"}, {"PUT", "/rest/x/c", "405 GET, HEAD, OPTIONS"},
		{"GET", "//double", "//double"}, {"GET", "/double", "404"},
		{"GET", "/slash/", "/slash/"}, {"GET", "/slash", "404"},
		{"GET", "/caf%C3%A9/%C3%BC", "/café/:x x=ü"}, {"GET", "/café/1", "/café/:x x=1"},
		{"DELETE", "/deep/1/2/3", "/deep/:a/:b/:c a=1 b=2 c=3"},
		{"DELETE", "/deep/one/2/3", "/deep/:a/:b/:c a=one b=2 c=3"},
		{"GET", "/deep/one/2/3/4/5/6", "/deep/one/* *=2/3/4/5/6"},
		{"GET", "/deep/two/2/3", "405 DELETE, OPTIONS"},
		{"GET", "", "404"}, {"GET", "*", "404"}, {"GET", "a", "404"},
	}
	for _, tt := range tests {
		f, err := r.find(tt.method, tt.path, nil)
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		if got := show(f); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestRouterAtTheRoot(t *testing.T) {
	for template, want := range map[string]string{"/:id?": "/:id?", "/*": "/* *="} {
		if f, err := mustRouter(t, "GET "+template).find("GET", "/", nil); err != nil || show(f) != want {
			t.Errorf("%s: got %q, %v", template, show(f), err)
		}
	}
	if f, _ := mustRouter(t).find("GET", "/a/b", nil); show(f) != "404" {
		t.Errorf("no routes: got %q", show(f))
	}
}

func TestRouterBadEscapes(t *testing.T) {
	r := mustRouter(t, "GET /a/:id", "GET /rest/*")
	for _, path := range []string{"/a/%", "/a/%4", "/a/%zz", "/a/%ff", "/nowhere/%C3", "/rest/x/y/z/%GG"} {
		_, err := r.find("GET", path, nil)
		var e *onion.Error
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
			t.Errorf("%s: got %v, want a 400", path, err)
		}
	}
}

func TestRouterRefusesEqualShapes(t *testing.T) {
	tests := []struct{ one, two string }{
		{"GET /a", "GET /a"},
		{"GET /a/:id", "GET /a/:name"},
		{"GET /a/:id/x", "GET /a/:name/x"},
		{"GET /a", "GET /a/:id?"},
		{"GET /a/:id", "GET /a/:id?"},
		{"GET /a/:id?", "GET /a/:name?"},
		{"GET /a/:id?", "GET /a"},
		{"GET /a/*", "GET /a/*"},
	}
	for _, tt := range tests {
		_, err := newRouter(routesOf(tt.one, tt.two))
		if err == nil || !strings.Contains(err.Error(), "x.go:1") || !strings.Contains(err.Error(), "x.go:2") {
			t.Errorf("%s and %s: got %v, want both places", tt.one, tt.two, err)
		}
	}
	for _, pair := range [][2]string{
		{"GET /a/:id", "POST /a/:name"}, {"GET /a/x", "GET /a/:id"}, {"GET /a/:id", "GET /a/*"}, {"GET /a", "GET /a/*"}, {"GET /a", "GET /a/"}, {"GET /a/:id?", "GET /a/*"},
	} {
		if _, err := newRouter(routesOf(pair[0], pair[1])); err != nil {
			t.Errorf("%v: %v", pair, err)
		}
	}
}

func TestTemplateErrors(t *testing.T) {
	tests := []struct{ path, want string }{
		{"a", "slash"}, {"", "slash"}, {"/:", "name"}, {"/:id.json", "name"}, {"/:1", "name"}, {"/:a-b", "name"},
		{"/:id?/x", "last"}, {"/*/x", "last"}, {"/a*", "literal"}, {"/a:b", "literal"}, {"/{id}", "literal"}, {"/a?b=1", "literal"}, {"/a%20b", "literal"},
		{"/:id/:id", "twice"}, {"/:?", "name"},
	}
	for _, tt := range tests {
		_, err := newRouter(routesOf("GET /ok", "GET "+tt.path))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.go:2") {
			t.Errorf("%q: got %v, want %q and the place", tt.path, err, tt.want)
		}
	}
	if _, err := newRouter(routesOf("HEAD /a")); err == nil {
		t.Error("a HEAD route: want an error")
	}
}

func TestRouterAllocatesNothing(t *testing.T) {
	r := manyRoutes(t, 1000)
	params := make(onion.Params, 0, 4)
	for _, path := range []string{"/api/module7/thing77/12345", "/api/module7/thing77", "/api/module7/nothing", "/api/module7/thing77/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := r.find("GET", path, params[:0]); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

func manyRoutes(t testing.TB, n int) *router {
	var lines []string
	for i := range n {
		switch base := fmt.Sprintf("/api/module%d/thing%d", i%10, i); i % 3 {
		case 0:
			lines = append(lines, "GET "+base)
		case 1:
			lines = append(lines, "POST "+base)
		default:
			lines = append(lines, "GET "+base+"/:id")
		}
	}
	return mustRouter(t, lines...)
}

func BenchmarkRouter(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := manyRoutes(b, n)
			params := make(onion.Params, 0, 4)
			b.ReportAllocs()
			for b.Loop() {
				if f, _ := r.find("GET", "/api/module8/thing8/12345", params[:0]); f.route == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

// FuzzRouter sends any path: the router never panics, and what a parameter gets
// is what the path said there.
func FuzzRouter(f *testing.F) {
	for _, seed := range []string{"/", "/a/b", "/a/%2F", "/a//b", "/rest/x/y", "/%", "/opt/", "//", "/a/%ff", strings.Repeat("/a", 50)} {
		f.Add("GET", seed)
	}
	r := mustRouter(f, "GET /", "GET /a", "GET /a/b", "GET /a/:id", "GET /a/:id/tail", "GET /opt/:id?", "GET /rest/*", "POST /:a/:b/:c")
	f.Fuzz(func(t *testing.T, method, path string) {
		got, err := r.find(method, path, nil)
		if err != nil {
			if plain, fault := url.PathUnescape(path); fault == nil && strings.ToValidUTF8(plain, "") == plain {
				t.Fatalf("%q: %v", path, err)
			}
			return
		}
		if got.route == nil {
			return
		}
		segments, err := parseTemplate(got.route.Path)
		if err != nil {
			t.Fatal(err)
		}
		sent := strings.Split(path, "/")[1:]
		next := 0
		for i, s := range segments {
			switch s.kind {
			case literalSegment:
				if plain, _ := url.PathUnescape(sent[i]); plain != s.text {
					t.Fatalf("%q took %s", path, got.route.Path)
				}
			case paramSegment:
				if plain, _ := url.PathUnescape(sent[i]); plain == "" || plain != got.params[next].Value {
					t.Fatalf("%q took %s with %v", path, got.route.Path, got.params)
				}
				next++
			case optionalSegment:
				if len(sent) > len(segments) {
					t.Fatalf("%q took %s", path, got.route.Path)
				}
			case restSegment:
				want := ""
				if i < len(sent) {
					want, _ = url.PathUnescape(strings.Join(sent[i:], "/"))
				}
				if got.params[next].Value != want {
					t.Fatalf("%q took %s with %v", path, got.route.Path, got.params)
				}
			}
		}
	})
}
