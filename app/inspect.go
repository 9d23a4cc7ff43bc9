package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// inspection is one thing that inspect can show. What it gives is printed as
// JSON, or by show.
type inspection struct {
	args string // of the command line, for the help
	most int    // how many arguments it takes at most
	// instance says whether --instance means something.
	instance bool
	find     func(ctx context.Context, a *App, line commandLine, args []string) (any, error)
	show     func(w io.Writer, found any)
}

// inspections by name; help lists them in the order of inspectionNames.
var inspections = map[string]inspection{
	"routes":    {find: findRoutes, show: printRoutes},
	"onions":    {find: findOnions, show: printOnions},
	"route":     {args: `"METHOD /path"`, most: 2, instance: true, find: findRoute, show: printRoute},
	"config":    {args: "[path]", most: 1, instance: true, find: findConfig, show: printConfig},
	"instances": {find: findInstances, show: printInstances},
}

var inspectionNames = []string{"routes", "onions", "route", "config", "instances"}

// inspectCommand shows what the application consists of. It builds the
// application and starts nothing.
func inspectCommand(ctx context.Context, p Program, line commandLine) error {
	if len(line.args) == 0 {
		return usageError("inspect what? One of " + strings.Join(inspectionNames, ", "))
	}
	in, ok := inspections[line.args[0]]
	args := line.args[1:]
	switch {
	case !ok:
		return usageError(fmt.Sprintf("cannot inspect %q, only %s", line.args[0], strings.Join(inspectionNames, ", ")))
	case len(args) > in.most:
		return usageError(fmt.Sprintf("inspect %s: too many arguments: %q", line.args[0], args[in.most]))
	case line.instance != nil && !in.instance:
		return usageError(fmt.Sprintf("inspect %s is the same for all instances: --instance means nothing", line.args[0]))
	}
	p.Options = append([]Option{func(o *options) { o.inspecting = true }}, p.Options...)
	a, err := p.build(line)
	if err != nil {
		return err
	}
	found, err := in.find(ctx, a, line, args)
	if err != nil {
		return err
	}
	if !line.json {
		in.show(p.Stdout, found)
		return nil
	}
	enc := json.NewEncoder(p.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(found)
}

// routeLine is a route as inspect shows it.
type routeLine struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Raw    string `json:"raw"`
	Action string `json:"action"`
	Where  string `json:"where"`
}

func findRoutes(_ context.Context, a *App, _ commandLine, _ []string) (any, error) {
	list := []routeLine{}
	for _, r := range a.Routes() {
		list = append(list, routeLine{r.Method, r.Path, r.Raw, r.Bean + ":" + r.Action, shortPlace(r.Where)})
	}
	return list, nil
}

func findOnions(_ context.Context, a *App, _ commandLine, _ []string) (any, error) {
	return a.ExplainOnions(), nil
}

// findInstances does without a store that cannot be asked, and says so in the log.
func findInstances(ctx context.Context, a *App, _ commandLine, _ []string) (any, error) {
	list, err := a.InstanceInfos(ctx)
	if err != nil {
		a.env.Logger.WarnContext(ctx, "only the instances of the configuration are listed", "error", err)
	}
	return list, nil
}

// findRoute takes "GET /path" in one argument or two. The path is a route's
// template or one that leads to it.
func findRoute(ctx context.Context, a *App, line commandLine, args []string) (any, error) {
	method, path, ok := strings.Cut(strings.Join(args, " "), " ")
	method, path = strings.ToUpper(method), strings.TrimSpace(path)
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, usageError(`inspect route wants a method and a path: inspect route "GET /api/demo/student/:id"`)
	}
	name := ""
	if line.instance != nil {
		name = *line.instance
	}
	for _, r := range a.Routes() {
		if r.Method == method && r.Path == path {
			return a.explain(ctx, r, name, "")
		}
	}
	path, _, _ = strings.Cut(path, "?")
	if r := a.exec.Route(method, path); r != nil {
		return a.explain(ctx, r, name, path)
	}
	return nil, noRoute(a.Routes(), method, path)
}

// noRoute says that there is no such route, and which there are at the path.
func noRoute(routes []*onion.RouteInfo, method, path string) error {
	var others []string
	for _, r := range routes {
		if r.Path == path {
			others = append(others, r.Method)
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("no route %s %s; the path has %s", method, path, strings.Join(others, ", "))
	}
	return fmt.Errorf("no route %s %s; inspect routes lists them all", method, path)
}

// valueLine is a value of the configuration.
type valueLine struct {
	Path   string `json:"path"`
	Value  any    `json:"value"`
	Layer  string `json:"layer"`
	Source string `json:"source"`
}

// findConfig lists the values at and beneath a path, without secrets. Where the
// configuration says nothing, the sections' defaults are in force.
func findConfig(ctx context.Context, a *App, line commandLine, args []string) (any, error) {
	now := a.current.Load()
	tree := now.cfg.Tree
	if line.instance != nil {
		inst, _, err := a.lookUp(ctx, now, *line.instance)
		if err != nil {
			return nil, err
		}
		tree = inst.Config()
	}
	tree = a.defaultsUnder(now.sections).Overlay(tree)
	var under []string
	if len(args) > 0 {
		var err error
		if under, err = config.ParsePath(args[0]); err != nil {
			return nil, usageError("inspect config: " + err.Error())
		}
		if !tree.Has(under...) {
			return nil, fmt.Errorf("the configuration says nothing at %s", args[0])
		}
	}
	list := []valueLine{}
	for _, path := range tree.PathsAt(under...) {
		at := tree.Source(path...)
		list = append(list, valueLine{config.PathString(path...), maskOption(now.engine, path, tree.Redacted(path...)), at.Layer, at.String()})
	}
	return list, nil
}

// maskOption hides a secret among the options of an onion, which only the onion
// knows to be one. Onions stand at the top and in instances.
func maskOption(e *onion.Engine, path []string, value any) any {
	if len(path) > 4 && path[0] == "instance" && path[1] == "instances" && path[3] == "config" {
		path = path[4:]
	}
	if len(path) < 4 || path[0] != "onions" {
		return value
	}
	return e.Masked(onion.Name(path[2]), value, path[3:]...)
}
