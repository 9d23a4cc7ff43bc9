package instance

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vonago/vonago/config"
)

// MaxStaticID is the greatest id that configuration may give an instance. Ids
// above it are those that MemoryStore derives from names.
const MaxStaticID = 1<<52 - 1

// Static is an instance as the configuration states it (contract D3).
type Static struct {
	// Name is the instance's name, "" for the default one.
	Name string
	// ID is 1 to MaxStaticID, 0 if the configuration gives none.
	ID int64
	// Title is for people.
	Title string
	// Isolate asks for data of its own; nil if the configuration does not say.
	Isolate *bool
	// Disabled locks the instance: 423.
	Disabled bool
	// Config is what the instance says over the application's configuration,
	// each value with its source; never nil.
	Config *config.Tree
	// Where is the file, or file and line, that states the instance.
	Where string
}

// Over is the record of an instance with what the configuration states of it: that
// wins, but either of them disables, and the id is the record's, under which data
// is stored. The config stays the record's.
func (s *Static) Over(rec Record) Record {
	rec.Title = cmp.Or(s.Title, rec.Title)
	rec.Disabled = rec.Disabled || s.Disabled
	if s.Isolate != nil {
		rec.Isolate = *s.Isolate
	}
	return rec
}

// stated is a static instance as it is written.
type stated struct {
	ID       *int64         `koanf:"id" validate:"omitempty,min=1,max=4503599627370495"` // MaxStaticID
	Title    string         `koanf:"title"`
	Isolate  *bool          `koanf:"isolate"`
	Disabled bool           `koanf:"disabled"`
	Config   map[string]any `koanf:"config"`
}

// configKey is the key of an instance's part of the configuration.
const configKey = "config"

// onionsKey is the section that every instance may override.
const onionsKey = "onions"

// Statics reads the static instances: those of instance.instances in the
// application's configuration and those of the files (contract D3). An
// instance's config may hold the section "onions" and the sections named (dotted
// paths); what else the application's configuration has (addresses, keys,
// clients) does not exist once per instance and is refused. So are instances
// stated twice, ids given twice and names that no instance can have. The error
// is nil or a config.Errors of every fault with its file and line. The result
// is sorted by name; with an error it still holds what could be read, so that a
// start that is refused can say what is wrong with that too.
func Statics(app *config.Tree, files []config.InstanceFile, sections ...string) ([]Static, error) {
	r := staticReader{claims: []string{"id", "title", "isolate", "disabled"}, at: map[string]config.Position{}}
	for _, section := range append([]string{onionsKey}, sections...) {
		r.claims = append(r.claims, configKey+"."+section)
	}
	base := []string{sectionName, "instances"}
	for _, name := range slices.Sorted(maps.Keys(app.Map(base...))) {
		path := append(slices.Clone(base), name)
		r.read(name, app, path)
	}
	if value, ok := app.Get(base...); ok && app.Map(base...) == nil && value != nil {
		r.fail(app.Source(base...), base, "must be an object of instances by name")
	}
	for _, f := range files {
		r.read(f.Name, f.Tree, nil)
	}
	slices.SortFunc(r.list, func(a, b Static) int { return strings.Compare(a.Name, b.Name) })
	r.checkIDs()
	if len(r.errs) > 0 {
		return r.list, r.errs
	}
	return r.list, nil
}

type staticReader struct {
	claims []string
	list   []Static
	at     map[string]config.Position // by name
	errs   config.Errors
}

func (r *staticReader) fail(at config.Position, path []string, format string, args ...any) {
	r.errs = append(r.errs, &config.Error{At: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// read adds the instance that stands at path in a tree.
func (r *staticReader) read(name string, tree *config.Tree, path []string) {
	at := tree.Source(path...)
	if err := CheckName(name); err != nil {
		r.fail(at, path, "%v", err)
		return
	}
	if first, ok := r.at[name]; ok {
		r.fail(at, path, "%s is stated twice, first at %s", label(name), first)
		return
	}
	r.at[name] = at
	var s stated
	r.add(nil, tree.Decode(&s, path...))
	own := tree.Sub(path...)
	if own.Map(configKey) != nil {
		r.add(path, own.Unclaimed(r.claims...))
	}
	st := Static{Name: name, Title: s.Title, Isolate: s.Isolate, Disabled: s.Disabled, Config: own.Sub(configKey), Where: at.String()}
	if s.ID != nil {
		st.ID = *s.ID
	}
	r.list = append(r.list, st)
}

// add takes over faults below prefix, each once: an unknown key of an instance
// is found by its type and by its claims.
func (r *staticReader) add(prefix []string, err error) {
	several, ok := errors.AsType[config.Errors](err)
	if err != nil && !ok {
		several = config.Errors{err}
	}
	for _, one := range several {
		if fault, ok := errors.AsType[*config.Error](one); ok {
			moved := *fault
			moved.Path = slices.Concat(prefix, fault.Path)
			one = &moved
		}
		same := func(known error) bool { return known.Error() == one.Error() }
		if !slices.ContainsFunc(r.errs, same) {
			r.errs = append(r.errs, one)
		}
	}
}

// defaultID is the id of the default instance if none is given, as in Vona.
const defaultID = 1

func (r *staticReader) checkIDs() {
	owner := map[int64]string{}
	for _, s := range r.list {
		id := s.ID
		if id == 0 && s.Name == "" {
			id = defaultID
		}
		if id == 0 {
			continue
		}
		if other, ok := owner[id]; ok {
			r.fail(r.at[s.Name], nil, "%s has the id %d, as %s has at %s", label(s.Name), id, label(other), r.at[other])
			continue
		}
		owner[id] = s.Name
	}
}
