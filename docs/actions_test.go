package docs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Arguments.

type Page struct {
	Limit int `query:"limit" default:"20" validate:"min=1,max=100"`
	After int `query:"after"`
}

type SearchInput struct {
	Page

	Shelf  string             `param:"shelf"`
	Word   *string            `query:"word"`
	Tags   []string           `query:"tag"`
	Since  time.Time          `query:"since"`
	Agent  string             `header:"user-agent"`
	IP     netip.Addr         `ip:""`
	Caller *passport.Passport `user:""`
	Call   *onion.Call        `request:""`
}

func search(_ context.Context, in *SearchInput) (string, error) {
	word := "none"
	if in.Word != nil {
		word = *in.Word
	}
	return fmt.Sprintf("%s word=%s tags=%q limit=%d since=%d ip=%s subject=%s route=%s",
		in.Shelf, word, in.Tags, in.Limit, in.Since.Year(), in.IP, in.Caller.Subject(), in.Call.Route.Raw), nil
}

type Book struct {
	Title string   `json:"title" validate:"required,max=80"`
	Pages int      `json:"pages" validate:"min=1"`
	Parts []string `json:"parts" validate:"max=3,dive,required"`
}

type PutInput struct {
	ISBN string `param:"isbn" validate:"len=13,number"`
	Book Book   `body:""`
}

func put(_ context.Context, in *PutInput) (*Book, error) { return &in.Book, nil }

func Example_arguments() {
	books := declared{Name: "book", Path: "book", Uses: []onion.Use{passport.Public()}, Routes: []onion.Route{
		onion.Get("search", "in/:shelf", search),
		onion.Put("put", ":isbn", put),
	}}
	try(onion.Basic{ModuleName: "demo-guide", ModuleControllers: []onion.Declaration{onion.Code(books)}}, nil,
		`GET /api/demo/guide/book/in/a%2Fb?tag=x&tag=y&since=2026-06-01T00:00:00Z`,
		`GET /api/demo/guide/book/in/a?word=&limit=0&after=soon`,
		`PUT /api/demo/guide/book/9780262510875 | {"title": "SICP", "pages": 657}`,
		`PUT /api/demo/guide/book/1 | {"title": "", "pages": "many", "parts": ["i", ""]}`)
	// Output:
	// 200 {"code":0,"message":"Success","data":"a/b word=none tags=[\"x\" \"y\"] limit=20 since=2026 ip=192.0.2.1 subject=anonymous route=/demo/guide/book/in/:shelf"}
	// 422 {"code":422,"message":"[{\"code\":\"invalid_type\",\"path\":[\"after\"],\"message\":\"expected integer\"},{\"code\":\"min\",\"path\":[\"limit\"],\"message\":\"must be at least 1\"}]","errors":[{"code":"invalid_type","path":["after"],"message":"expected integer"},{"code":"min","path":["limit"],"message":"must be at least 1"}]}
	// 200 {"code":0,"message":"Success","data":{"title":"SICP","pages":657,"parts":null}}
	// 422 {"code":422,"message":"[{\"code\":\"invalid_type\",\"path\":[\"pages\"],\"message\":\"expected integer, received string\"},{\"code\":\"len\",\"path\":[\"isbn\"],\"message\":\"must be exactly 13 characters\"},{\"code\":\"required\",\"path\":[\"title\"],\"message\":\"is required\"},{\"code\":\"required\",\"path\":[\"parts\",1],\"message\":\"is required\"}]","errors":[{"code":"invalid_type","path":["pages"],"message":"expected integer, received string"},{"code":"len","path":["isbn"],"message":"must be exactly 13 characters"},{"code":"required","path":["title"],"message":"is required"},{"code":"required","path":["parts",1],"message":"is required"}]}
}

// What comes out.

func outcomes() declared {
	return declared{Name: "out", Path: "out", Uses: []onion.Use{passport.Public()}, Routes: []onion.Route{
		onion.Get("text", "text", func(context.Context, *onion.Empty) (string, error) { return "hello", nil }),
		onion.Get("nothing", "nothing", func(context.Context, *onion.Empty) (onion.Empty, error) { return onion.Empty{}, nil }),
		onion.Get("nobody", "nobody", func(context.Context, *onion.Empty) (*Book, error) { return nil, nil }),
		onion.Get("none", "none", func(context.Context, *onion.Empty) ([]Book, error) { return nil, nil }),
		onion.Post("made", "made", func(ctx context.Context, _ *onion.Empty) (string, error) {
			response := &onion.CallFrom(ctx).Response
			response.Status = http.StatusCreated
			response.SetHeader("Location", "/made/1")
			return "made", nil
		}),
		onion.Get("file", "file", func(context.Context, *onion.Empty) (*onion.Reply, error) {
			return &onion.Reply{ContentType: "text/csv", Body: []byte("a,b\n")}, nil
		}),
		onion.Get("stream", "stream", func(ctx context.Context, _ *onion.Empty) (onion.Empty, error) {
			_, err := fmt.Fprint(onion.CallFrom(ctx).Response.Writer, "as it is")
			return onion.Empty{}, err
		}),
		onion.Get("bare", "bare", func(context.Context, *onion.Empty) (map[string]int, error) {
			return map[string]int{"a": 1}, nil
		}, acore.BodyRes(onion.Enable(false))),
	}}
}

func Example_outcomes() {
	try(onion.Basic{ModuleName: "demo-guide", ModuleControllers: []onion.Declaration{onion.Code(outcomes())}},
		[]string{"Content-Type", "Location"},
		"GET /api/demo/guide/out/text",
		"GET /api/demo/guide/out/text | Accept: text/html",
		"GET /api/demo/guide/out/nothing",
		"GET /api/demo/guide/out/nothing | Accept: text/html",
		"GET /api/demo/guide/out/nobody",
		"GET /api/demo/guide/out/none",
		"POST /api/demo/guide/out/made",
		"GET /api/demo/guide/out/file",
		"GET /api/demo/guide/out/stream",
		"GET /api/demo/guide/out/bare")
	// Output:
	// 200 {"code":0,"message":"Success","data":"hello"}
	//     Content-Type: application/json; charset=utf-8
	// 200 hello
	//     Content-Type: text/html; charset=utf-8
	// 200 {"code":0,"message":"Success","data":null}
	//     Content-Type: application/json; charset=utf-8
	// 204
	// 200 {"code":0,"message":"Success","data":null}
	//     Content-Type: application/json; charset=utf-8
	// 200 {"code":0,"message":"Success","data":[]}
	//     Content-Type: application/json; charset=utf-8
	// 201 {"code":0,"message":"Success","data":"made"}
	//     Content-Type: application/json; charset=utf-8
	//     Location: /made/1
	// 200 a,b
	//     Content-Type: text/csv
	// 200 as it is
	//     Content-Type: text/plain; charset=utf-8
	// 200 {"a":1}
	//     Content-Type: application/json; charset=utf-8
}

// Errors.

const codeLent = 1001

func lend(_ context.Context, in *LendInput) (onion.Empty, error) {
	switch in.ISBN {
	case "lent":
		return onion.Empty{}, onion.BusinessError("demo-guide", codeLent, http.StatusConflict, "the book is lent")
	case "locked":
		return onion.Empty{}, onion.NewError(http.StatusForbidden, nil)
	case "broken":
		return onion.Empty{}, fmt.Errorf("open the shelf: %w", context.DeadlineExceeded)
	case "early":
		return onion.Empty{}, &onion.Error{Status: http.StatusTooEarly, Message: "tomorrow", Header: http.Header{"Retry-After": {"86400"}}}
	case "bad":
		return onion.Empty{}, onion.ValidationError([]onion.FieldError{{Code: "unknown", Path: []any{"isbn"}, Message: "is in no catalogue"}})
	}
	panic("no such case")
}

type LendInput struct {
	ISBN string `param:"isbn"`
}

func Example_errors() {
	books := declared{Name: "book", Path: "book", Uses: []onion.Use{passport.Public()}, Routes: []onion.Route{
		onion.Post("lend", ":isbn/lend", lend),
	}}
	try(onion.Basic{ModuleName: "demo-guide", ModuleControllers: []onion.Declaration{onion.Code(books)}},
		[]string{"Retry-After", "Allow", "Www-Authenticate"},
		"POST /api/demo/guide/book/lent/lend",
		"POST /api/demo/guide/book/locked/lend",
		"POST /api/demo/guide/book/early/lend",
		"POST /api/demo/guide/book/bad/lend",
		"POST /api/demo/guide/book/panic/lend",
		"GET /api/demo/guide/book/lent/lend",
		"POST /api/demo/guide/book/lent")
	// Output:
	// 409 {"code":"demo-guide:1001","message":"the book is lent"}
	// 401 {"code":401,"message":"Unauthorized"}
	//     Www-Authenticate: Bearer
	// 425 {"code":425,"message":"tomorrow"}
	//     Retry-After: 86400
	// 422 {"code":422,"message":"[{\"code\":\"unknown\",\"path\":[\"isbn\"],\"message\":\"is in no catalogue\"}]","errors":[{"code":"unknown","path":["isbn"],"message":"is in no catalogue"}]}
	// 500 {"code":500,"message":"Internal Server Error"}
	// 405 {"code":405,"message":"Method Not Allowed"}
	//     Allow: OPTIONS, POST
	// 404 {"code":404,"message":"Not Found"}
}

// Overrides.

type Prices struct {
	onion.ControllerTag `name:"price" path:"price" passport:"public" rateLimit:"limit=60"`

	List  onion.Action[onion.Empty, string] `get:""`
	Quote onion.Action[onion.Empty, string] `post:"quote" rateLimit:"enable,limit=5"`
	Ping  onion.Action[onion.Empty, string] `get:"ping" rateLimit:"enable=false"`
}

func ok(context.Context, *onion.Empty) (string, error) { return "ok", nil }

// pricesInCode are the same policies by code.
func pricesInCode() onion.Controller {
	return onion.Controller{Name: "price", Path: "price",
		Uses: []onion.Use{passport.Public(), acore.RateLimit(aratelimit.Policy{Limit: 60})},
		Routes: []onion.Route{
			onion.Get("list", "", ok),
			onion.Post("quote", "quote", ok, acore.RateLimit(aratelimit.Policy{Limit: 5}, onion.Enable(true))),
			onion.Get("ping", "ping", ok, acore.RateLimit(aratelimit.Policy{}, onion.Enable(false))),
		}}
}

func Example_overrides() {
	for _, controller := range []onion.Declaration{
		onion.Tags(&Prices{List: ok, Quote: ok, Ping: ok}), onion.Code(declared(pricesInCode())),
	} {
		try(onion.Basic{ModuleName: "demo-guide", ModuleControllers: []onion.Declaration{controller}},
			[]string{"RateLimit-Limit"},
			"GET /api/demo/guide/price",
			"POST /api/demo/guide/price/quote",
			"GET /api/demo/guide/price/ping")
	}
	// Output:
	// 200 {"code":0,"message":"Success","data":"ok"}
	// 200 {"code":0,"message":"Success","data":"ok"}
	//     RateLimit-Limit: 5
	// 200 {"code":0,"message":"Success","data":"ok"}
	// 200 {"code":0,"message":"Success","data":"ok"}
	// 200 {"code":0,"message":"Success","data":"ok"}
	//     RateLimit-Limit: 5
	// 200 {"code":0,"message":"Success","data":"ok"}
}

// In process.

func Example_inProcess() {
	a, err := build(onion.Basic{ModuleName: "demo-guide", ModuleControllers: []onion.Declaration{onion.Code(declared(pricesInCode()))}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := a.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	quote := func() {
		value, err := a.PerformAction(ctx, "POST", "/demo/guide/price/quote", executor.ActionOptions{
			Onions: map[string]map[string]any{"a-ratelimit:rateLimit": {"rateLimit": map[string]any{"limit": 1, "windowMs": 86_400_000}}},
		})
		fmt.Println(value, err)
	}
	quote()
	quote()
	if err := a.Stop(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ok <nil>
	// <nil> 429 Too Many Requests
}
