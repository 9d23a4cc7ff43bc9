package docs_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"strings"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// An interceptor that is global and off: routes turn it on.

type SunsetOptions struct {
	Date string `json:"date" nonempty:"true"`
}

var Sunset = onion.Interceptor("demo-guide:sunset", func() SunsetOptions { return SunsetOptions{} }, buildSunset,
	onion.Global(), onion.Disabled(), onion.Before("a-body:bodyReq"), onion.Tag("sunset"))

func (o SunsetOptions) Validate() error {
	if o.Date == "" {
		return &onion.OptionError{Path: []string{"date"}, Message: "must be given"}
	}
	return nil
}

func buildSunset(o SunsetOptions, _ onion.Env) (onion.Wrap, error) {
	return func(next onion.Next) onion.Next {
		return func(ctx context.Context, c *onion.Call) (any, error) {
			c.Response.SetHeader("Sunset", o.Date)
			return next(ctx, c)
		}
	}, nil
}

// A guard for callers of some networks.

type NetworkOptions struct {
	Allow []string `json:"allow"`
}

var Network = onion.Guard("demo-guide:network", func() NetworkOptions { return NetworkOptions{} }, buildNetwork,
	onion.Tag("network"))

func buildNetwork(o NetworkOptions, _ onion.Env) (onion.CheckFunc, error) {
	var allowed []netip.Prefix
	for _, text := range o.Allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, &onion.OptionError{Path: []string{"allow"}, Message: err.Error()}
		}
		allowed = append(allowed, p)
	}
	return func(_ context.Context, c *onion.Call) (onion.Verdict, error) {
		for _, p := range allowed {
			if p.Contains(c.Addr) {
				return onion.Pass, nil
			}
		}
		return onion.Refuse, nil
	}, nil
}

// A pipe that arguments name.

var Trim = onion.Pipe("demo-guide:trim", onion.NoDefaults,
	func(onion.NoOptions, onion.Env) (onion.PipeFunc, error) {
		return func(_ context.Context, _ *onion.Call, _ onion.Arg, value any) (any, error) {
			if text, ok := value.(string); ok {
				return strings.TrimSpace(text), nil
			}
			return value, nil
		}, nil
	})

// A filter that knows an error of the application's own.

var Missing = onion.Filter("demo-guide:missing", onion.NoDefaults,
	func(onion.NoOptions, onion.Env) (onion.FilterFunc, error) {
		return func(_ context.Context, _ *onion.Call, err error) (*onion.Reply, error) {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, onion.NewError(http.StatusNotFound, err)
			}
			return nil, err
		}, nil
	}, onion.Global(), onion.Before("a-error:error"))

// A local middleware around the action alone, on a service of its module.

type Ledger struct{ lines []string }

func (l *Ledger) write(line string) { l.lines = append(l.lines, line) }

var Transaction = onion.Middleware("demo-guide:transaction", onion.NoDefaults,
	func(_ onion.NoOptions, env onion.Env) (onion.Wrap, error) {
		ledger, err := onion.Service[*Ledger](env)
		if err != nil {
			return nil, err
		}
		return func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				ledger.write("begin")
				value, err := next(ctx, c)
				if err != nil {
					ledger.write("rollback")
					return nil, err
				}
				ledger.write("commit")
				return value, nil
			}
		}, nil
	}, onion.Tag("transaction"))

// A system middleware around every request.

var RequestID = onion.SystemMiddleware("demo-guide:requestId", onion.NoDefaults,
	func(onion.NoOptions, onion.Env) (onion.Wrap, error) {
		return func(next onion.Next) onion.Next {
			return func(ctx context.Context, c *onion.Call) (any, error) {
				c.Response.SetHeader("X-Request-Id", rand.Text())
				return next(ctx, c)
			}
		}, nil
	}, onion.Before("a-logger:httpLog"))

// The module and a controller that uses them.

type Module struct {
	onion.Basic
	ledger *Ledger
}

func (m Module) Provide(env onion.Env) error { return onion.Provide(env, m.ledger) }

func NewModule(ledger *Ledger, controllers ...onion.Declaration) Module {
	return Module{ledger: ledger, Basic: onion.Basic{
		ModuleName:        "demo-guide",
		ModuleOnions:      []onion.Onion{Sunset, Network, Trim, Missing, Transaction, RequestID},
		ModuleControllers: controllers,
	}}
}

type NoteInput struct {
	Text string `field:"text" pipe:"demo-guide:trim" validate:"required"`
}

type Notes struct {
	onion.ControllerTag `name:"note" path:"note" passport:"public" sunset:"date='Tue, 01 Jun 2027 00:00:00 GMT'"`

	Add  onion.Action[NoteInput, string]   `post:"" transaction:"" sunset:"enable"`
	Lost onion.Action[onion.Empty, string] `get:"lost" transaction:""`
	Desk onion.Action[onion.Empty, string] `get:"desk" network:"allow=10.0.0.0/8|192.168.0.0/16"`
}

func newNotes() *Notes {
	return &Notes{
		Add: func(_ context.Context, in *NoteInput) (string, error) { return in.Text, nil },
		Lost: func(context.Context, *onion.Empty) (string, error) {
			return "", fmt.Errorf("read the note: %w", fs.ErrNotExist)
		},
		Desk: func(context.Context, *onion.Empty) (string, error) { return "welcome", nil },
	}
}

// NotesInCode declares the same controller by code.
type NotesInCode struct{ *Notes }

func (n NotesInCode) Controller() onion.Controller {
	return onion.Controller{Name: "note", Path: "note",
		Uses: []onion.Use{
			passport.Public(),
			Sunset.Use(SunsetOptions{Date: "Tue, 01 Jun 2027 00:00:00 GMT"}),
		},
		Routes: []onion.Route{
			onion.Post("add", "", n.Add, Transaction.Use(onion.NoOptions{}), Sunset.Use(SunsetOptions{}, onion.Enable(true))),
			onion.Get("lost", "lost", n.Lost, Transaction.Use(onion.NoOptions{})),
			onion.Get("desk", "desk", n.Desk, Network.Use(NetworkOptions{Allow: []string{"10.0.0.0/8", "192.168.0.0/16"}})),
		}}
}

func Example_onions() {
	for _, declared := range []onion.Declaration{onion.Tags(newNotes()), onion.Code(NotesInCode{newNotes()})} {
		ledger := &Ledger{}
		try(NewModule(ledger, declared), []string{"Sunset"},
			`POST /api/demo/guide/note | {"text": "  milk "}`,
			`POST /api/demo/guide/note | {"text": "   "}`,
			`GET /api/demo/guide/note/lost`,
			`GET /api/demo/guide/note/desk`)
		fmt.Println(ledger.lines)
	}
	// Output:
	// 200 {"code":0,"message":"Success","data":"milk"}
	//     Sunset: Tue, 01 Jun 2027 00:00:00 GMT
	// 422 {"code":422,"message":"[{\"code\":\"required\",\"path\":[\"text\"],\"message\":\"is required\"}]","errors":[{"code":"required","path":["text"],"message":"is required"}]}
	//     Sunset: Tue, 01 Jun 2027 00:00:00 GMT
	// 404 {"code":404,"message":"Not Found"}
	// 401 {"code":401,"message":"Unauthorized"}
	// [begin commit begin rollback]
	// 200 {"code":0,"message":"Success","data":"milk"}
	//     Sunset: Tue, 01 Jun 2027 00:00:00 GMT
	// 422 {"code":422,"message":"[{\"code\":\"required\",\"path\":[\"text\"],\"message\":\"is required\"}]","errors":[{"code":"required","path":["text"],"message":"is required"}]}
	//     Sunset: Tue, 01 Jun 2027 00:00:00 GMT
	// 404 {"code":404,"message":"Not Found"}
	// 401 {"code":401,"message":"Unauthorized"}
	// [begin commit begin rollback]
}
