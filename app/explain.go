package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/onion"
)

// Explanation says what is in force at a route for an instance: the onions of the
// system chain and of the route's, in the order of the chain, each with its
// options and who said what. Secrets are masked.
type Explanation struct {
	Method string `json:"method"`
	// Path is the route's template with its prefix, Raw without.
	Path string `json:"path"`
	Raw  string `json:"raw"`
	// Action is the bean's full name and the action: "demo-student.controller.student:view".
	Action string `json:"action"`
	// Where is the place of the declaration in the source.
	Where    string       `json:"where"`
	Instance InstanceInfo `json:"instance"`
	// Notes tell what keeps the explanation from being the whole truth.
	Notes  []string               `json:"notes,omitempty"`
	Onions []onion.ExplainedOnion `json:"onions"`
}

// InstanceInfo tells of an instance.
type InstanceInfo struct {
	Name string `json:"name"`
	// ID is 0 if neither the configuration nor a record gives one.
	ID       int64  `json:"id,omitempty"`
	Title    string `json:"title,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Isolate  bool   `json:"isolate,omitempty"`
	// Where states the instance: a file, or a file and line; empty if only a record
	// does.
	Where string `json:"where,omitempty"`
	// Overrides are the dotted paths of what the configuration says for it.
	Overrides []string `json:"overrides,omitempty"`
}

// Explain tells what is in force at a route for an instance, "" being the default
// one. The instance is looked up as a request's would be. The error wraps
// instance.ErrUnknown if there is none of that name.
func (a *App) Explain(ctx context.Context, route *onion.RouteInfo, name string) (*Explanation, error) {
	return a.explain(ctx, route, name, "")
}

// explain is Explain for a path as it would be sent; "" if only the template is
// known.
func (a *App) explain(ctx context.Context, route *onion.RouteInfo, name, path string) (*Explanation, error) {
	now := a.current.Load()
	route, err := now.own(route)
	if err != nil {
		return nil, err
	}
	ex := &Explanation{
		Method: route.Method, Path: route.Path, Raw: route.Raw, Action: route.Bean + ":" + route.Action, Where: shortPlace(route.Where),
	}
	inst, note, err := a.lookUp(ctx, now, name)
	if err != nil {
		return nil, err
	}
	if note != "" {
		ex.Notes = append(ex.Notes, note)
	}
	if fault := inst.Fault(); fault != nil {
		ex.Notes = append(ex.Notes, fmt.Sprintf("the stored config of the instance is refused: %v", fault))
	}
	ex.Instance = infoOf(inst, now.sections.statics)
	known := onion.Known{Instance: &name}
	if path == "" && !strings.ContainsAny(route.Path, ":*") {
		path = route.Path
	}
	if path != "" {
		known.Path = &path
	}
	ex.Onions = shown(slices.Concat(now.engine.ExplainSystem(known), inst.Set.Explain(route).Onions))
	return ex, nil
}

// own is a route of the engine in force: a reload makes them anew.
func (f *inForce) own(route *onion.RouteInfo) (*onion.RouteInfo, error) {
	for _, r := range f.engine.Routes() {
		if r == route || r.Bean == route.Bean && r.Action == route.Action {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the application has no route %s", route)
}

// lookUp finds an instance. An inspection does without a store that cannot be
// asked, and notes it.
func (a *App) lookUp(ctx context.Context, now *inForce, name string) (inst *instance.Instance, note string, err error) {
	inst, err = now.instances.Lookup(ctx, name)
	if err == nil {
		return inst, "", nil
	}
	if !errors.Is(err, instance.ErrUnknown) && a.options.inspecting {
		note = fmt.Sprintf("without stored config, for the store of records cannot be asked: %v", err)
		static, buildErr := instance.NewManager(instanceConfig(now.cfg, now.sections, now.engine), instance.Options{})
		if buildErr != nil {
			return nil, "", buildErr
		}
		inst, err = static.Lookup(ctx, name)
	}
	if errors.Is(err, instance.ErrUnknown) {
		var names []string
		for _, n := range now.instances.Names() {
			names = append(names, fmt.Sprintf("%q", n))
		}
		return nil, "", fmt.Errorf("%w %q, known are: %s", err, name, strings.Join(names, ", "))
	}
	return inst, note, err
}

func infoOf(inst *instance.Instance, statics []instance.Static) InstanceInfo {
	info := InstanceInfo{Name: inst.Name}
	for _, s := range statics {
		if s.Name == inst.Name {
			info = staticInfo(s)
		}
	}
	info.Title, info.Disabled, info.Isolate = inst.Title, inst.Disabled, inst.Isolate
	if inst.ID != unregistered {
		info.ID = inst.ID
	}
	return info
}

func staticInfo(s instance.Static) InstanceInfo {
	info := InstanceInfo{Name: s.Name, ID: s.ID, Title: s.Title, Disabled: s.Disabled, Isolate: s.Isolate != nil && *s.Isolate, Where: s.Where}
	for _, path := range s.Config.Paths() {
		info.Overrides = append(info.Overrides, config.PathString(path...))
	}
	return info
}

// InstanceInfos are the instances, by name: those that the configuration states,
// with what their records add, and those that only the store of records has, if
// it is an instance.Editor. The error says that the store cannot be asked; the
// list is then that of the configuration.
func (a *App) InstanceInfos(ctx context.Context) ([]InstanceInfo, error) {
	statics := a.current.Load().sections.statics
	list := make([]InstanceInfo, 0, len(statics))
	stated := map[string]int{}
	for i, s := range statics {
		list = append(list, staticInfo(s))
		stated[s.Name] = i
	}
	editor, ok := a.store().(instance.Editor)
	if !ok {
		return list, nil
	}
	records, err := editor.List(ctx)
	if err != nil {
		return list, fmt.Errorf("list the records of instances: %w", err)
	}
	for _, r := range records {
		rec, i := *r, len(list)
		if at, ok := stated[r.Name]; ok {
			rec, i = statics[at].Over(rec), at
		} else {
			list = append(list, InstanceInfo{Name: r.Name})
		}
		list[i].ID, list[i].Title, list[i].Disabled, list[i].Isolate = rec.ID, rec.Title, rec.Disabled, rec.Isolate
	}
	slices.SortFunc(list, func(a, b InstanceInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// ExplainOnions tells what defaults and application config say of every onion,
// scene by scene in the order of the chain.
func (a *App) ExplainOnions() []onion.ExplainedOnion {
	return shown(a.current.Load().engine.ExplainOnions())
}

// shown makes explanations fit to be shown: secrets that no type declares are
// masked, and places in the source are short.
func shown(list []onion.ExplainedOnion) []onion.ExplainedOnion {
	for i := range list {
		list[i].Where = shortPlace(list[i].Where)
		for j := range list[i].Options {
			o := &list[i].Options[j]
			o.Value = config.Redact(o.Value, strings.Split(o.Path, ".")...)
			o.Source = shortPlace(o.Source)
		}
	}
	return list
}

// shortPlace makes an absolute path that lies beneath the working directory
// relative to it.
func shortPlace(place string) string {
	wd, err := os.Getwd()
	if err != nil || !filepath.IsAbs(place) {
		return place
	}
	if rel, err := filepath.Rel(wd, place); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return place
}
