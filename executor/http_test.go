package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

type named string

type own struct{}

func (own) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// TestSuccess is contract C1 and C4a: what an action gives, as JSON and where
// HTML is wanted.
func TestSuccess(t *testing.T) {
	type data struct {
		A string `json:"a"`
	}
	status := func(code int, v any) onion.Action[onion.Empty, any] {
		return func(ctx context.Context, _ *onion.Empty) (any, error) {
			onion.CallFrom(ctx).Response.Status = code
			return v, nil
		}
	}
	wrapped := func(data string) string { return `{"code":0,"message":"Success","data":` + data + `}` }
	reply := &onion.Reply{Status: 418, ContentType: "text/x-tea", Header: http.Header{"x-pot": {"1"}}, Body: []byte("tea")}
	tests := []struct {
		route              onion.Route
		status             int
		json               string
		bareStatus         int
		bare, typeWithHTML string
	}{
		{onion.Get("struct", "a", gives(data{"<&>"})), 200, wrapped(`{"a":"<&>"}`), 200, `{"a":"<&>"}`, typeJSON},
		{onion.Get("string", "a", gives("<b>")), 200, wrapped(`"<b>"`), 200, `<b>`, typeHTML},
		{onion.Get("named", "a", gives(named("x"))), 200, wrapped(`"x"`), 200, `x`, typeHTML},
		{onion.Get("number", "a", gives(7)), 200, wrapped(`7`), 200, `7`, typeJSON},
		{onion.Get("false", "a", gives(false)), 200, wrapped(`false`), 200, `false`, typeJSON},
		{onion.Get("empty", "a", gives(onion.Empty{})), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("emptyPointer", "a", gives(&onion.Empty{})), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("nilPointer", "a", gives[*data](nil)), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("nilInterface", "a", gives[any](nil)), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("nilReply", "a", gives[*onion.Reply](nil)), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("nilSlice", "a", gives[[]data](nil)), 200, wrapped(`[]`), 200, `[]`, typeJSON},
		{onion.Get("nilSliceAsAny", "a", gives[any]([]int(nil))), 200, wrapped(`[]`), 200, `[]`, typeJSON},
		{onion.Get("nilBytes", "a", gives([]byte(nil))), 200, wrapped(`""`), 200, `""`, typeJSON},
		{onion.Get("nilMap", "a", gives[map[string]int](nil)), 200, wrapped(`{}`), 200, `{}`, typeJSON},
		{onion.Get("nilRaw", "a", gives(json.RawMessage(nil))), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("own", "a", gives(own{})), 200, wrapped(`null`), 204, "", ""},
		{onion.Get("created", "a", status(201, 1)), 201, wrapped(`1`), 201, `1`, typeJSON},
		{onion.Get("createdNothing", "a", status(201, nil)), 201, wrapped(`null`), 201, "", ""},
		{onion.Get("noContent", "a", status(204, nil)), 204, "", 204, "", ""},
		{onion.Get("notModified", "a", status(304, 5)), 304, "", 304, "", typeJSON},
		{onion.Get("createdString", "a", status(202, "x")), 202, wrapped(`"x"`), 202, "x", typeHTML},
		{onion.Get("reply", "a", gives(reply)), 418, "tea", 418, "tea", "text/x-tea"},
		{onion.Get("replyValue", "a", gives(*reply)), 418, "tea", 418, "tea", "text/x-tea"},
		{onion.Get("replyPlain", "a", gives(&onion.Reply{})), 200, "", 200, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.route.Action, func(t *testing.T) {
			a := newApp(tt.route).run(t)
			res := a.get("/api/t/a")
			res.want(t, tt.status, tt.json)
			if h := res.Header.Get("Content-Type"); strings.HasPrefix(tt.json, "{") && h != typeJSON {
				t.Errorf("content type %q", h)
			}
			bare := a.get("/api/t/a", asHTML)
			bare.want(t, tt.bareStatus, tt.bare)
			if h := bare.Header.Get("Content-Type"); h != tt.typeWithHTML && tt.bareStatus != 304 {
				t.Errorf("content type where HTML is wanted: %q, want %q", h, tt.typeWithHTML)
			}
		})
	}
}

// TestFailure is contract C2 and C3 for the executor's own form of errors.
func TestFailure(t *testing.T) {
	business := onion.BusinessError("demo-x", 1001, 409, "no more seats")
	broken := onion.BusinessError("demo-x", 1002, 0, "leak")
	validation := onion.ValidationError([]onion.FieldError{{Code: "required", Path: []any{"list", 0, "name"}, Message: "is required"}})
	tests := []struct {
		name      string
		err       error
		status    int
		dev, prod string
	}{
		{"internal", onion.NewError(429, nil), 429, `{"code":429,"message":"Too Many Requests"}`, ""},
		{"wrapped", fmt.Errorf("while: %w", onion.NewError(423, errSecret)), 423, `{"code":423,"message":"Locked"}`, ""},
		{"business", business, 409, `{"code":"demo-x:1001","message":"no more seats"}`, ""},
		{"business of 500", broken, 500, `{"code":"demo-x:1002","message":"leak"}`, `{"code":"demo-x:1002","message":"Internal Server Error"}`},
		{"foreign", errSecret, 500, `{"code":500,"message":"Internal Server Error"}`, ""},
		{"5xx keeps its status", &onion.Error{Status: 502, Message: "leak"}, 502, `{"code":502,"message":"leak"}`, `{"code":502,"message":"Bad Gateway"}`},
		{"fields of a 5xx", &onion.Error{Status: 502, Errors: []onion.FieldError{{Code: "x", Path: []any{"leak"}, Message: "leak"}}}, 502,
			`{"code":502,"message":"Bad Gateway","errors":[{"code":"x","path":["leak"],"message":"leak"}]}`, `{"code":502,"message":"Bad Gateway"}`},
		{"no status", &onion.Error{Message: "x"}, 500, `{"code":500,"message":"x"}`, `{"code":500,"message":"Internal Server Error"}`},
		{"status of a success", &onion.Error{Status: 200}, 500, `{"code":500,"message":"Internal Server Error"}`, ""},
		{"validation", validation, 422,
			`{"code":422,"message":"[{\"code\":\"required\",\"path\":[\"list\",0,\"name\"],\"message\":\"is required\"}]","errors":[{"code":"required","path":["list",0,"name"],"message":"is required"}]}`, ""},
	}
	for _, tt := range tests {
		for _, mode := range []onion.Mode{onion.ModeDev, onion.ModeProd} {
			t.Run(tt.name+" "+string(mode), func(t *testing.T) {
				def := newApp(onion.Get("a", "a", fails(tt.err)))
				def.mode = mode
				a := def.run(t)
				want := tt.dev
				if mode == onion.ModeProd && tt.prod != "" {
					want = tt.prod
				}
				res := a.get("/api/t/a")
				res.want(t, tt.status, want)
				if h := res.Header; h.Get("Content-Type") != typeJSON || h.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("header %v", h)
				}
				if got := res.Header.Get("Cache-Control"); (got == "no-store") != (tt.status == 429) {
					t.Errorf("Cache-Control %q", got)
				}
				page := a.get("/api/t/a", asHTML)
				heading := fmt.Sprintf("<h2>%d %s</h2>", tt.status, http.StatusText(tt.status))
				if mode == onion.ModeProd {
					page.want(t, tt.status, heading)
				} else if page.StatusCode != tt.status || !strings.HasPrefix(page.body, heading+"\n<pre>") {
					t.Errorf("page: %d %s", page.StatusCode, page.body)
				}
				if page.Header.Get("Content-Type") != typeHTML {
					t.Errorf("page: header %v", page.Header)
				}
			})
		}
	}
}

func TestErrorHeaders(t *testing.T) {
	failing := func(ctx context.Context, _ *onion.Empty) (string, error) {
		r := &onion.CallFrom(ctx).Response
		r.SetHeader("Content-Type", "image/png")
		r.SetHeader("Etag", `"x"`)
		r.SetHeader("Cache-Control", "public, max-age=60")
		r.SetHeader("Ratelimit-Limit", "5")
		r.Status = 201
		e := onion.NewError(400, nil)
		e.Header = http.Header{"retry-after": {"3"}}
		return "", e
	}
	res := newApp(onion.Get("a", "a", failing)).run(t).get("/api/t/a")
	res.want(t, 400, `{"code":400,"message":"Bad Request"}`)
	h := res.Header
	if h.Get("Retry-After") != "3" || h.Get("Ratelimit-Limit") != "5" || h.Get("Etag") != "" || h.Get("Cache-Control") != "" || h.Get("Content-Type") != typeJSON {
		t.Errorf("header %v", h)
	}
}

// TestRouting is contract C5 over HTTP.
func TestRouting(t *testing.T) {
	type in struct {
		ID string `param:"id"`
	}
	echo := func(_ context.Context, in *in) (string, error) { return in.ID, nil }
	a := newApp(onion.Get("one", "x/:id", echo), onion.Post("make", "x", gives("made")), onion.Get("list", "x", gives("list"))).run(t)
	ok := func(data string) string { return `{"code":0,"message":"Success","data":"` + data + `"}` }
	const none, bad = `{"code":404,"message":"Not Found"}`, `{"code":400,"message":"Bad Request"}`
	tests := []struct {
		method, path string
		status       int
		body, allow  string
	}{
		{"GET", "/api/t/x/1", 200, ok("1"), ""},
		{"GET", "/api/t/x/1?", 200, ok("1"), ""},
		{"GET", "/api/t/x/a%2Fb", 200, ok("a/b"), ""},
		{"GET", "/api/t/x/a%2Fb%22", 200, ok(`a/b\"`), ""},
		{"GET", "/api/t/%78/1", 200, ok("1"), ""},
		{"GET", "/api/t/x/%ff", 400, bad, ""},
		{"GET", "/api/t/x/1/", 404, none, ""},
		{"GET", "/api/t//x/1", 404, none, ""},
		{"GET", "/api/T/x/1", 404, none, ""},
		{"GET", "/api/t/../t/x/1", 404, none, ""},
		{"GET", "/api/t/./x/1", 404, none, ""},
		{"GET", "/api/t%2Fx/1", 404, none, ""},
		{"GET", "/", 404, none, ""},
		{"POST", "/api/t/x/1", 405, `{"code":405,"message":"Method Not Allowed"}`, "GET, HEAD, OPTIONS"},
		{"DELETE", "/api/t/x", 405, `{"code":405,"message":"Method Not Allowed"}`, "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/api/t/x", 204, "", "GET, HEAD, OPTIONS, POST"},
		{"OPTIONS", "/api/t/y", 404, none, ""},
		{"PROPFIND", "/api/t/x", 405, `{"code":405,"message":"Method Not Allowed"}`, "GET, HEAD, OPTIONS, POST"},
	}
	for _, tt := range tests {
		res := a.do(tt.method, tt.path, "")
		if res.want(t, tt.status, tt.body); res.Header.Get("Allow") != tt.allow {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, res.Header.Get("Allow"))
		}
	}
	a.get("/nowhere", asHTML).want(t, 404, "<h1>404 Not Found</h1>")

	get, head := a.get("/api/t/x"), a.do("HEAD", "/api/t/x", "")
	head.want(t, 200, "")
	if head.ContentLength != int64(len(get.body)) || head.Header.Get("Content-Type") != typeJSON {
		t.Errorf("HEAD: length %d, header %v", head.ContentLength, head.Header)
	}
	missing := a.do("HEAD", "/nowhere", "")
	if missing.want(t, 404, ""); missing.ContentLength != int64(len(none)) {
		t.Errorf("HEAD of nothing: length %d", missing.ContentLength)
	}
}

// TestGuards is contract C6 and the verdicts of guards.
func TestGuards(t *testing.T) {
	verdict := globalGuard("demo-x:verdict", func(_ context.Context, c *onion.Call) (onion.Verdict, error) {
		switch c.Header.Get("X-Verdict") {
		case "enough":
			return onion.Enough, nil
		case "refuse":
			return onion.Refuse, nil
		case "403":
			return onion.Pass, onion.NewError(403, errSecret)
		}
		return onion.Pass, nil
	})
	last := globalGuard("demo-x:last", func(context.Context, *onion.Call) (onion.Verdict, error) {
		return onion.Pass, onion.NewError(402, nil)
	})
	forbidden := &onion.Error{Status: 403, Code: "demo-x:9", Message: "not yours", Header: http.Header{"X-Why": {"owner"}}}
	def := newApp(onion.Get("a", "a", gives("in")), onion.Get("mine", "mine", fails(forbidden)))
	def.onions = append(def.onions, globalGuard("demo-x:signIn", signIn), verdict, last)
	a := def.run(t)
	const in = `{"code":0,"message":"Success","data":"in"}`
	const anonymous, user = `{"code":401,"message":"Unauthorized"}`, `{"code":403,"message":"Forbidden"}`
	a.get("/api/t/a").want(t, 402, `{"code":402,"message":"Payment Required"}`)
	a.get("/api/t/a", "X-Verdict: enough").want(t, 200, in)
	for _, v := range []string{"refuse", "403"} {
		res := a.get("/api/t/a", "X-Verdict: "+v)
		if res.want(t, 401, anonymous); res.Header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("header %v", res.Header)
		}
		a.get("/api/t/a", "X-Verdict: "+v, "X-User: kate").want(t, 403, user)
	}
	res := a.get("/api/t/mine", "X-Verdict: enough")
	if res.want(t, 401, `{"code":401,"message":"not yours"}`); res.Header.Get("X-Why") != "owner" {
		t.Errorf("header %v", res.Header)
	}
	a.get("/api/t/mine", "X-Verdict: enough", "X-User: kate").want(t, 403, `{"code":"demo-x:9","message":"not yours"}`)
}

type failingStore struct{ instance.Store }

func (failingStore) Find(context.Context, string) (*instance.Record, error) { return nil, errSecret }

// TestInstances is contract C8, and its order: unknown instances reach the
// system chain, a failing store does not.
func TestInstances(t *testing.T) {
	reached := system("demo-x:first", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			c.Response.SetHeader("X-System", "reached")
			return next(ctx, c)
		}
	}, onion.Before("a-instance:instance"))
	who := handle(func(ctx context.Context) (string, error) {
		return instance.Current(ctx).Name + "|" + onion.CallFrom(ctx).Instance, nil
	})
	route := onion.Get("a", "a", who)
	def := newApp(route)
	def.onions = append(def.onions, reached)
	a := def.run(t)
	const locked = `{"code":423,"message":"Locked"}`
	tests := []struct {
		header string
		status int
		body   string
	}{
		{"X-Other: 1", 200, `{"code":0,"message":"Success","data":"|"}`},
		{"x-vona-instance-name: acme", 200, `{"code":0,"message":"Success","data":"acme|acme"}`},
		{"Host: acme.cabloy.test", 200, `{"code":0,"message":"Success","data":"acme|acme"}`},
		{"x-vona-instance-name: unknown", 423, locked},
		{"x-vona-instance-name: closed", 423, locked},
		{"x-vona-instance-name: null", 401, `{"code":401,"message":"Unauthorized"}`},
	}
	for _, tt := range tests {
		res := a.get("/api/t/a", tt.header)
		if res.want(t, tt.status, tt.body); res.Header.Get("X-System") != "reached" {
			t.Errorf("%s: did not reach the system chain", tt.header)
		}
	}

	open := newApp(route) // closed even without a-instance:instance
	open.onions = []onion.Onion{bodyRes}
	b := open.run(t)
	b.get("/api/t/a", "x-vona-instance-name: unknown").want(t, 423, locked)
	b.get("/api/t/a", "x-vona-instance-name: closed").want(t, 423, locked)

	down := newApp(route)
	down.onions, down.store = append(down.onions, reached), failingStore{}
	res := down.run(t).get("/api/t/a", "x-vona-instance-name: acme")
	res.want(t, 503, `{"code":503,"message":"Service Unavailable"}`)
	if h := res.Header; h.Get("X-System") != "" || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("header %v", h)
	}

	broken := newApp(route)
	broken.resolve = func(*onion.Call) (string, bool) { panic("resolve") }
	broken.run(t).get("/api/t/a").want(t, 500, `{"code":500,"message":"Internal Server Error"}`)
}

// TestSystemChain: an outer system middleware sees what was written, whatever
// happened further in (contract C3, C9).
func TestSystemChain(t *testing.T) {
	type seen struct {
		onion.Written
		value any
		err   error
	}
	outcomes := make(chan seen, 1)
	log := system("demo-x:log", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			value, err := next(ctx, c)
			outcomes <- seen{c.Response.Written, value, err}
			return value, err
		}
	})
	inner := system("demo-x:inner", func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			switch c.RawQuery {
			case "error":
				return nil, onion.NewError(418, nil)
			case "panic":
				panic("inner")
			case "reply":
				return &onion.Reply{Status: 202, Body: []byte("reply")}, nil
			case "value":
				return "value", nil
			}
			c.Response.SetHeader("X-Inner", "1")
			value, err := next(ctx, c)
			if c.RawQuery == "late" {
				return nil, errSecret
			}
			return value, err
		}
	}, onion.After("demo-x:log"))
	inbound := func(name, query string, opts ...onion.DefOption) onion.Onion {
		return system(name, func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				if c.RawQuery == query {
					panic(name)
				}
				return next(ctx, c)
			}
		}, append(opts, onion.Inbound())...)
	}
	between := inbound("demo-x:between", "between", onion.After("demo-x:log"), onion.Before("demo-x:inner"))
	last := inbound("demo-x:last", "last", onion.After("demo-x:inner"))
	var filtered []string
	filter := globalFilter("demo-x:filter", func(_ context.Context, c *onion.Call, err error) (*onion.Reply, error) {
		filtered = append(filtered, err.Error())
		return nil, err
	})
	def := newApp(onion.Get("a", "a", gives("in")), onion.Get("bad", "bad", fails(onion.NewError(400, nil))))
	def.onions = append(def.onions, log, between, inner, last, filter)
	a := def.run(t)
	tests := []struct {
		path   string
		status int
		body   string
		filter string
	}{
		{"/api/t/a", 200, `{"code":0,"message":"Success","data":"in"}`, ""},
		{"/api/t/bad", 400, `{"code":400,"message":"Bad Request"}`, "400 Bad Request"},
		{"/api/t/a?late", 200, `{"code":0,"message":"Success","data":"in"}`, ""},
		{"/api/t/a?error", 418, `{"code":418,"message":"I'm a teapot"}`, "418 I'm a teapot"},
		{"/api/t/a?panic", 500, `{"code":500,"message":"Internal Server Error"}`, "500 Internal Server Error: panic: inner"},
		{"/api/t/a?between", 500, `{"code":500,"message":"Internal Server Error"}`, "500 Internal Server Error: panic: demo-x:between"},
		{"/api/t/a?last", 500, `{"code":500,"message":"Internal Server Error"}`, "500 Internal Server Error: panic: demo-x:last"},
		{"/api/t/a?reply", 202, "reply", ""},
		{"/api/t/a?value", 200, `"value"`, ""}, // nothing asked for the wrapper
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			filtered = nil
			a.get(tt.path).want(t, tt.status, tt.body)
			got := <-outcomes
			if got.Status != tt.status || got.Bytes != int64(len(tt.body)) || got.value != nil || got.err != nil {
				t.Errorf("the outer middleware saw %+v", got)
			}
			if all := strings.Join(filtered, ","); all != tt.filter {
				t.Errorf("filters saw %q, want %q", all, tt.filter)
			}
		})
	}
	a.get("/nowhere").want(t, 404, `{"code":404,"message":"Not Found"}`)
	if got := <-outcomes; got.value != onion.Unhandled || got.Status != 0 {
		t.Errorf("what nothing handles: the outer middleware saw %+v", got)
	}
	a.do("POST", "/api/t/a", "").want(t, 405, `{"code":405,"message":"Method Not Allowed"}`)
	<-outcomes
	if !strings.Contains(a.log.String(), "error after the response had begun") {
		t.Error("the late error is not logged")
	}
}

func TestFilters(t *testing.T) {
	filter := func(name string) onion.Onion {
		return globalFilter("demo-x:"+name, func(_ context.Context, c *onion.Call, err error) (*onion.Reply, error) {
			switch what, _ := c.Request.URL.Query()[name]; strings.Join(what, "") {
			case "reply":
				return &onion.Reply{Status: 400, Body: []byte(name)}, nil
			case "badReply":
				return &onion.Reply{Status: 42}, nil
			case "better":
				return nil, &onion.Error{Status: 409, Message: "better"}
			case "panic":
				panic(name)
			case "write":
				_, _ = io.WriteString(c.Response.Writer, name)
			case "forget":
				return nil, nil
			}
			return nil, err
		})
	}
	e := onion.NewError(401, nil)
	e.Header = http.Header{"Www-Authenticate": {"Bearer"}}
	def := newApp(onion.Get("a", "a", fails(e)))
	def.onions = append(def.onions, filter("one"), filter("two"))
	a := def.run(t)
	const plain, better = `{"code":401,"message":"Unauthorized"}`, `{"code":409,"message":"better"}`
	tests := []struct {
		query  string
		status int
		body   string
	}{
		{"", 401, plain}, {"one=reply", 400, "one"}, {"one=reply&two=reply", 400, "one"}, {"two=reply", 400, "two"},
		{"one=better", 409, better}, {"one=better&two=reply", 400, "two"}, {"one=panic", 401, plain}, {"one=panic&two=reply", 400, "two"},
		{"one=write", 200, "one"}, {"one=write&two=reply", 200, "one"}, {"one=better&two=write", 200, "two"},
		{"one=forget", 401, plain}, {"one=badReply", 401, plain},
	}
	for _, tt := range tests {
		res := a.get("/api/t/a?" + tt.query)
		if res.want(t, tt.status, tt.body); !strings.Contains(tt.query, "better") && !strings.Contains(tt.query, "write") && res.Header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s: the error's header is lost: %v", tt.query, res.Header)
		}
	}
}

type badJSON struct{}

func (badJSON) MarshalJSON() ([]byte, error) { return nil, errSecret }

type panicJSON struct{}

func (panicJSON) MarshalJSON() ([]byte, error) { panic("marshal") }

// TestPanics is contract C9.
func TestPanics(t *testing.T) {
	var causes []error
	filter := globalFilter("demo-x:filter", func(_ context.Context, _ *onion.Call, err error) (*onion.Reply, error) {
		causes = append(causes, err)
		return nil, err
	})
	panics := func(v any) onion.Action[onion.Empty, string] {
		return handle(func(context.Context) (string, error) { panic(v) })
	}
	var typedNil *onion.Error
	partial := func(then func() error) onion.Action[onion.Empty, string] {
		return handle(func(ctx context.Context) (string, error) {
			_, err := io.WriteString(onion.CallFrom(ctx).Response.Writer, "partial")
			return "more", errors.Join(err, then())
		})
	}
	def := newApp(
		onion.Get("text", "text", panics("boom")),
		onion.Get("error", "error", panics(errSecret)),
		onion.Get("abort", "abort", panics(http.ErrAbortHandler)),
		onion.Get("typedNil", "nil", fails(typedNil)),
		onion.Get("nilList", "nil-list", fails(onion.Errors(nil))),
		onion.Get("marshal", "marshal", gives(badJSON{})),
		onion.Get("marshalPanic", "marshal-panic", gives(panicJSON{})),
		onion.Get("status", "status", handle(func(ctx context.Context) (int, error) {
			onion.CallFrom(ctx).Response.Status = 42
			return 1, nil
		})),
		onion.Get("begun", "begun", partial(func() error { return nil })),
		onion.Get("begunError", "begun-error", partial(func() error { return errSecret })),
		onion.Get("begunPanic", "begun-panic", partial(func() error { panic("late") })),
		onion.Get("fine", "fine", gives("fine")),
	)
	def.onions = append(def.onions, filter)
	a := def.run(t)
	const internal, fine = `{"code":500,"message":"Internal Server Error"}`, `{"code":0,"message":"Success","data":"fine"}`
	for _, path := range []string{"text", "error", "marshal", "marshal-panic", "status"} {
		causes = nil
		a.get("/api/t/"+path).want(t, 500, internal)
		a.get("/api/t/fine").want(t, 200, fine)
		if len(causes) != 1 {
			t.Fatalf("%s: %d errors reached the filter", path, len(causes))
		}
		var p *PanicError
		isPanic := errors.As(causes[0], &p)
		if want := path == "text" || path == "error" || path == "marshal-panic"; isPanic != want {
			t.Errorf("%s: the filter got %v", path, causes[0])
		} else if isPanic && !strings.Contains(string(p.Stack()), "_test.go") {
			t.Errorf("%s: the stack does not show where: %s", path, p.Stack())
		}
		if path == "error" && !errors.Is(causes[0], errSecret) {
			t.Errorf("an error that was panicked with is lost: %v", causes[0])
		}
	}
	a.get("/api/t/nil").want(t, 200, `{"code":0,"message":"Success","data":""}`)
	a.get("/api/t/nil-list").want(t, 200, `{"code":0,"message":"Success","data":""}`)
	a.get("/api/t/begun").want(t, 200, "partial")
	a.get("/api/t/begun-error").want(t, 200, "partial")
	if res, err := a.try("GET", "/api/t/begun-panic", ""); err == nil || res.body != "partial" || res.StatusCode != 200 {
		t.Errorf("a panic in the middle of a response: got %q, %v, want what was written and an error", res.body, err)
	}
	if _, err := a.try("GET", "/api/t/abort", ""); err == nil {
		t.Error("ErrAbortHandler: got a response")
	}
	a.get("/api/t/fine").want(t, 200, fine)
}
