package testapp

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Probes is the controller that tests reach the contract's corners with. It is
// declared by policy tags; coded declares the same by code.
type Probes struct {
	onion.ControllerTag `name:"probe" path:"probe"`

	Hello   onion.Action[onion.Empty, string]         `get:"hello" passport:"public"`
	Nothing onion.Action[onion.Empty, onion.Empty]    `get:"nothing" passport:"public"`
	List    onion.Action[onion.Empty, []string]       `get:"list" passport:"public"`
	Map     onion.Action[onion.Empty, map[string]int] `get:"map" passport:"public"`
	Private onion.Action[onion.Empty, string]         `get:"private"`
	Admin   onion.Action[onion.Empty, string]         `get:"admin" roleName:"name=admin"`
	Echo    onion.Action[EchoInput, *EchoInput]       `post:"echo/:id" passport:"public"`
	Fail    onion.Action[FailInput, string]           `get:"fail" passport:"public"`
	Panic   onion.Action[onion.Empty, string]         `get:"panic" passport:"public"`
	Raw     onion.Action[onion.Empty, *onion.Reply]   `get:"raw" passport:"public"`
	Write   onion.Action[onion.Empty, onion.Empty]    `get:"write" passport:"public"`
	Limited onion.Action[onion.Empty, string]         `get:"limited" passport:"public" rateLimit:"enable,limit=3,windowMs=86400000,name=limited"`
	Method  onion.Action[onion.Empty, string]         `put:"method" passport:"public"`
	Address onion.Action[AddressInput, string]        `get:"address" passport:"public"`
}

// EchoInput has an argument of every source a client can fill.
type EchoInput struct {
	ID    int64    `param:"id" json:"id" validate:"min=1"`
	Tags  []string `query:"tag" json:"tags"`
	Agent string   `header:"x-agent" json:"agent"`
	Body  EchoBody `body:"" json:"body"`
}

// EchoBody is the body of an echo.
type EchoBody struct {
	Name string `json:"name" validate:"required,max=10"`
	Age  int    `json:"age" validate:"min=0"`
}

// FailInput says how to fail.
type FailInput struct {
	How string `query:"how"`
}

// AddressInput takes the client's address.
type AddressInput struct {
	IP string `ip:""`
}

// NewProbes makes the controller.
func NewProbes() *Probes {
	p := &Probes{}
	p.Hello, p.Nothing, p.List, p.Map = p.hello, p.nothing, p.list, p.mapped
	p.Private, p.Admin, p.Echo, p.Fail = p.private, p.admin, p.echo, p.fail
	p.Panic, p.Raw, p.Write, p.Limited = p.panics, p.raw, p.write, p.limited
	p.Method, p.Address = p.method, p.address
	return p
}

func (*Probes) hello(context.Context, *onion.Empty) (string, error) { return "hello", nil }

func (*Probes) nothing(context.Context, *onion.Empty) (onion.Empty, error) { return onion.Empty{}, nil }

func (*Probes) list(context.Context, *onion.Empty) ([]string, error) { return nil, nil }

func (*Probes) mapped(context.Context, *onion.Empty) (map[string]int, error) { return nil, nil }

func (*Probes) private(ctx context.Context, _ *onion.Empty) (string, error) {
	return "for " + passport.Current(ctx).Subject(), nil
}

func (*Probes) admin(context.Context, *onion.Empty) (string, error) { return "for admins", nil }

func (*Probes) echo(_ context.Context, in *EchoInput) (*EchoInput, error) { return in, nil }

// errSecret is what production must not show.
var errSecret = errors.New("secret detail of the database")

func (*Probes) fail(_ context.Context, in *FailInput) (string, error) {
	switch in.How {
	case "business":
		return "", onion.BusinessError("test-vona", 1001, http.StatusBadRequest, "not today")
	case "business500":
		return "", onion.BusinessError("test-vona", 1002, 0, "secret business detail")
	case "bad gateway":
		return "", &onion.Error{Status: http.StatusBadGateway, Message: "secret upstream detail", Cause: errSecret,
			Errors: []onion.FieldError{{Code: "x", Path: []any{"secret"}, Message: "secret field"}}}
	case "forbidden":
		return "", onion.NewError(http.StatusForbidden, nil)
	case "typed nil":
		var none *onion.Error
		return "fine", none
	}
	return "", errSecret
}

func (*Probes) panics(context.Context, *onion.Empty) (string, error) { panic("secret panic detail") }

func (*Probes) raw(context.Context, *onion.Empty) (*onion.Reply, error) {
	return &onion.Reply{Status: http.StatusTeapot, ContentType: "text/plain", Body: []byte("short and stout")}, nil
}

func (*Probes) write(ctx context.Context, _ *onion.Empty) (onion.Empty, error) {
	w := onion.CallFrom(ctx).Response.Writer
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusAccepted)
	_, err := io.WriteString(w, "written by hand")
	return onion.Empty{}, err //nolint:wrapcheck // nothing to add
}

func (*Probes) limited(context.Context, *onion.Empty) (string, error) { return "within the limit", nil }

func (*Probes) method(context.Context, *onion.Empty) (string, error) { return "put", nil }

func (*Probes) address(_ context.Context, in *AddressInput) (string, error) { return in.IP, nil }
