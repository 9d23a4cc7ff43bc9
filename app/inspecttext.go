package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/vonago/vonago/onion"
)

// sceneNotes say where in a request a scene has its place.
var sceneNotes = map[onion.Scene]string{
	onion.SceneMiddlewareSystem: "around every request, before routing",
	onion.SceneMiddleware:       "around the guards and all that follows; local ones around the action",
	onion.SceneGuard:            "one after another",
	onion.SceneInterceptor:      "around arguments and action",
	onion.ScenePipe:             "for the arguments",
	onion.SceneFilter:           "for an error",
}

func printRoute(w io.Writer, found any) {
	ex, _ := found.(*Explanation)
	fmt.Fprintf(w, "%s %s\n", ex.Method, ex.Path)
	fmt.Fprintf(w, "  action    %s  (%s)\n", ex.Action, ex.Where)
	fmt.Fprintf(w, "  raw path  %s  (what match and ignore see)\n", ex.Raw)
	fmt.Fprintf(w, "  instance  %s\n", instanceText(ex.Instance))
	for _, note := range ex.Notes {
		fmt.Fprintf(w, "  note      %s\n", note)
	}
	printScenes(w, ex.Onions, false)
}

func printOnions(w io.Writer, found any) {
	list, _ := found.([]onion.ExplainedOnion)
	fmt.Fprintln(w, "Defaults and application config; instances and routes may say otherwise (inspect route).")
	printScenes(w, list, true)
}

// printScenes prints onions by scene in the order of the chain; places adds where
// each is defined.
func printScenes(w io.Writer, list []onion.ExplainedOnion, places bool) {
	var scene onion.Scene
	for _, o := range list {
		if o.Scene != scene {
			scene = o.Scene
			fmt.Fprintf(w, "\n%s: %s\n", scene, sceneNotes[scene])
		}
		fmt.Fprintf(w, "  %s\n", onionText(o, places))
		for _, opt := range o.Options {
			fmt.Fprintf(w, "      %s = %s  (%s)\n", opt.Path, valueText(opt.Value), sourceText(opt))
		}
	}
}

// onionText begins with + for an active onion and - for one that is not.
func onionText(o onion.ExplainedOnion, places bool) string {
	text := "+ " + string(o.Name)
	if !o.Active {
		text = "- " + string(o.Name)
	}
	var notes []string
	if !o.Global {
		notes = append(notes, "local")
	}
	if !o.Active {
		notes = append(notes, "not active")
	}
	if o.Reason != "" {
		notes = append(notes, o.Reason)
	}
	if len(notes) > 0 {
		text += ": " + strings.Join(notes, ", ")
	}
	if places {
		text += "  (" + o.Where + ")"
	}
	return text
}

func sourceText(o onion.ExplainedOption) string {
	switch o.Layer {
	case onion.LayerDefaults:
		return "default"
	case onion.LayerController, onion.LayerAction, onion.LayerDynamic:
		return o.Layer.String() + ", " + o.Source
	default:
		return o.Source
	}
}

func instanceText(i InstanceInfo) string {
	text := fmt.Sprintf("%q", i.Name)
	if i.ID != 0 {
		text += fmt.Sprintf(", id %d", i.ID)
	}
	if i.Title != "" {
		text += ", " + i.Title
	}
	if i.Disabled {
		text += ", disabled"
	}
	if i.Isolate {
		text += ", isolated"
	}
	return text + "  (" + cmp.Or(i.Where, "a record") + ")"
}

func printRoutes(w io.Writer, found any) {
	list, _ := found.([]routeLine)
	table(w, func(w io.Writer) {
		for _, r := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Method, r.Path, r.Action, r.Where)
		}
	})
}

func printInstances(w io.Writer, found any) {
	list, _ := found.([]InstanceInfo)
	for _, i := range list {
		fmt.Fprintln(w, instanceText(i))
		for _, path := range i.Overrides {
			fmt.Fprintf(w, "      %s\n", path)
		}
	}
}

func printConfig(w io.Writer, found any) {
	list, _ := found.([]valueLine)
	for _, v := range list {
		fmt.Fprintf(w, "%s = %s  (%s)\n", v.Path, valueText(v.Value), v.Source)
	}
}

func table(w io.Writer, rows func(io.Writer)) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows(t)
	_ = t.Flush() // as with Fprintf: nobody reads what cannot be written
}

// plainWord is a text that reads as itself: no number, no word of YAML.
var plainWord = regexp.MustCompile(`^[A-Za-z/_*.][A-Za-z0-9/_*.:@+-]*$`)

// valueText writes a value as YAML would, in one line.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		if plainWord.MatchString(v) && !slices.Contains([]string{"true", "false", "null"}, v) {
			return v
		}
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = valueText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
