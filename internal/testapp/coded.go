package testapp

import (
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// coded is the controller Probes, declared by code.
type coded struct{ p *Probes }

// Controller declares the routes of Probes.
func (c coded) Controller() onion.Controller {
	p, public := c.p, passport.Public
	return onion.Controller{Name: "probe", Path: "probe", Routes: []onion.Route{
		onion.Get("hello", "hello", p.hello, public()),
		onion.Get("nothing", "nothing", p.nothing, public()),
		onion.Get("list", "list", p.list, public()),
		onion.Get("map", "map", p.mapped, public()),
		onion.Get("private", "private", p.private),
		onion.Get("admin", "admin", p.admin, passport.RoleName("admin")),
		onion.Post("echo", "echo/:id", p.echo, public()),
		onion.Get("fail", "fail", p.fail, public()),
		onion.Get("panic", "panic", p.panics, public()),
		onion.Get("raw", "raw", p.raw, public()),
		onion.Get("write", "write", p.write, public()),
		onion.Get("limited", "limited", p.limited, public(),
			acore.RateLimit(aratelimit.Policy{Limit: 3, WindowMs: 86_400_000, Name: "limited"}, onion.Enable(true))),
		onion.Put("method", "method", p.method, public()),
		onion.Get("address", "address", p.address, public()),
	}}
}

// shapes is a controller of path shapes (contract D5).
type shapes struct{}

// Controller declares a route of every shape.
func (shapes) Controller() onion.Controller {
	text := func(s string) onion.Action[pathInput, string] { return pathInput{}.answer(s) }
	return onion.Controller{Name: "shapes", Path: "shapes", Uses: []onion.Use{passport.Public()}, Routes: []onion.Route{
		onion.Get("index", "", text("index")),
		onion.Get("literal", "one", text("literal")),
		onion.Get("param", ":id", text("param")),
		onion.Get("optional", "optional/:id?", text("optional")),
		onion.Get("rest", "rest/*", text("rest")),
		onion.Get("absolute", "/absolute/:id", text("absolute")),
		onion.Get("root", "//robots.txt", text("root")),
	}}
}
