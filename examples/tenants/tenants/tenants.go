// Package tenants is the module demo-tenants of the example: what an operator does
// with tenants, and one action that the tenants have.
package tenants

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/ainstance"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Module is the module demo-tenants. It reads modules.demo-tenants.adminKey.
func Module() onion.Module {
	t := &Tenants{}
	t.Hello, t.Login, t.List, t.Create, t.Change = t.hello, t.login, t.list, t.create, t.change
	return &module{Basic: onion.Basic{ModuleName: "demo-tenants", ModuleControllers: []onion.Declaration{onion.Tags(t)}}, tenants: t}
}

type module struct {
	onion.Basic
	config struct {
		// AdminKey is what an operator signs in with.
		AdminKey aredis.Password `koanf:"adminKey" validate:"required"`
	}
	tenants *Tenants
}

// Config gives the section "modules.demo-tenants".
func (m *module) Config() map[string]any { return map[string]any{"modules.demo-tenants": &m.config} }

// Provide takes the services that the actions use.
func (m *module) Provide(env onion.Env) error {
	var errRecords, errTokens error
	m.tenants.key = m.config.AdminKey.Reveal()
	m.tenants.records, errRecords = onion.Service[*ainstance.Records](env)
	m.tenants.tokens, errTokens = onion.Service[*passport.Tokens](env)
	return errors.Join(errRecords, errTokens)
}

// Tenants is the controller. What is not public needs a token, and only an
// operator gets one.
type Tenants struct {
	onion.ControllerTag `name:"tenants" path:""`

	Hello  onion.Action[onion.Empty, Greeting] `get:"hello" passport:"public"`
	Login  onion.Action[LoginInput, Token]     `post:"login" passport:"public" rateLimit:"enable,limit=10,windowMs=60000,key=ip"`
	List   onion.Action[onion.Empty, []Record] `get:"records"`
	Create onion.Action[RecordInput, *Record]  `post:"records"`
	Change onion.Action[RecordInput, *Record]  `patch:"records"`

	key     string
	records *ainstance.Records
	tokens  *passport.Tokens
}

// Greeting says whose request it is.
type Greeting struct {
	Tenant string `json:"tenant"`
	ID     int64  `json:"id"`
	Title  string `json:"title"`
}

func (t *Tenants) hello(ctx context.Context, _ *onion.Empty) (Greeting, error) {
	inst := instance.Current(ctx)
	return Greeting{Tenant: inst.Name, ID: inst.ID, Title: inst.Title}, nil
}

// LoginInput is the operator's key.
type LoginInput struct {
	Key string `field:"key" validate:"required"`
}

// Token is to be sent as a bearer token.
type Token struct {
	Token string `json:"token"`
}

func (t *Tenants) login(_ context.Context, in *LoginInput) (Token, error) {
	if subtle.ConstantTimeCompare([]byte(in.Key), []byte(t.key)) != 1 {
		return Token{}, passport.Unauthorized(errors.New("another key"))
	}
	token, err := t.tokens.Sign(passport.ClientAccess, passport.Payload{UserID: passport.NumberID(1)}, passport.SignOptions{})
	return Token{Token: token}, err
}

// Record is a tenant as the operator sees it.
type Record struct {
	ID       int64           `json:"id"`
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Disabled bool            `json:"disabled"`
	Config   json.RawMessage `json:"config,omitempty"`
}

func shown(rec *instance.Record, err error) (*Record, error) {
	switch {
	case errors.Is(err, instance.ErrNotFound):
		return nil, onion.BusinessError("demo-tenants", 1001, http.StatusNotFound, "no such tenant")
	case errors.Is(err, ainstance.ErrExists):
		return nil, onion.BusinessError("demo-tenants", 1002, http.StatusConflict, "the tenant exists")
	case errors.Is(err, ainstance.ErrRefused):
		return nil, onion.BusinessError("demo-tenants", 1003, http.StatusUnprocessableEntity, err.Error())
	case err != nil:
		return nil, err
	}
	return &Record{ID: rec.ID, Name: rec.Name, Title: rec.Title, Disabled: rec.Disabled, Config: rec.Config}, nil
}

func (t *Tenants) list(ctx context.Context, _ *onion.Empty) ([]Record, error) {
	records, err := t.records.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Record, len(records))
	for i, rec := range records {
		one, _ := shown(rec, nil)
		list[i] = *one
	}
	return list, nil
}

// RecordInput is a tenant to make, or what is to change of one.
type RecordInput struct {
	Body RecordBody `body:""`
}

// RecordBody is a record's fields; what is left out stays.
type RecordBody struct {
	Name     string  `json:"name"`
	Title    *string `json:"title"`
	Disabled *bool   `json:"disabled"`
	// Limit is the tenant's own limit of requests a minute.
	Limit *int64 `json:"limit"`
}

// config is the stored config that the limit comes to; nil if none is given.
func (b RecordBody) config() *[]byte {
	if b.Limit == nil {
		return nil
	}
	text := fmt.Appendf(nil, `{"onions":{"interceptor":{"a-ratelimit:rateLimit":{"rateLimit":{"limit":%d}}}}}`, *b.Limit)
	return &text
}

func (t *Tenants) create(ctx context.Context, in *RecordInput) (*Record, error) {
	rec := instance.Record{Name: in.Body.Name}
	if in.Body.Title != nil {
		rec.Title = *in.Body.Title
	}
	if config := in.Body.config(); config != nil {
		rec.Config = *config
	}
	return shown(t.records.Create(ctx, rec))
}

func (t *Tenants) change(ctx context.Context, in *RecordInput) (*Record, error) {
	patch := instance.Patch{Title: in.Body.Title, Disabled: in.Body.Disabled, Config: in.Body.config()}
	return shown(t.records.Update(ctx, in.Body.Name, patch))
}
