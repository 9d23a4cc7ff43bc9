package bench

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
)

// bar is what a figure must reach, and what would be better still.
type bar struct {
	need, wish float64
	atLeast    bool // the figure must not be below; otherwise it must not be above
}

func atMost(need, wish float64) *bar  { return &bar{need, wish, false} }
func atLeast(need, wish float64) *bar { return &bar{need, wish, true} }

func (b *bar) reached(limit, v float64) bool {
	if b.atLeast {
		return v >= limit
	}
	return v <= limit
}

func (b *bar) text(limit float64) string {
	sign := "<="
	if b.atLeast {
		sign = ">="
	}
	return sign + " " + number(limit)
}

// row is one line of the table.
type row struct {
	what, against string
	figure        summary
	bar           *bar // nil: for information
	// exact figures do not depend on the machine: they hold in a smoke run too.
	exact bool
}

func (r row) verdict() string {
	switch {
	case r.bar == nil:
		return ""
	case !r.bar.reached(r.bar.need, r.figure.median):
		return "MISSED"
	case r.bar.reached(r.bar.wish, r.figure.median):
		return "met, and the ambition"
	}
	return "met"
}

// report collects rows and notes.
type report struct {
	rows  []row
	notes []section
}

// section is a table of absolute figures.
type section struct {
	title   string
	columns []string
	lines   [][]string
}

func (r *report) add(rows ...row) { r.rows = append(r.rows, rows...) }

// missed are the rows below their bar; of a smoke run only the exact ones count.
func (r *report) missed(onlyExact bool) []row {
	var list []row
	for _, one := range r.rows {
		if one.verdict() == "MISSED" && (one.exact || !onlyExact) {
			list = append(list, one)
		}
	}
	return list
}

// String is the report as Markdown.
func (r *report) String() string {
	var b strings.Builder
	main := section{columns: []string{"what", "against", "min", "median", "max", "bar", "ambition", "verdict"}}
	for _, one := range r.rows {
		need, wish := "", ""
		if one.bar != nil {
			need, wish = one.bar.text(one.bar.need), one.bar.text(one.bar.wish)
		}
		main.lines = append(main.lines, []string{
			one.what, one.against, number(one.figure.min), number(one.figure.median), number(one.figure.max), need, wish, one.verdict(),
		})
	}
	main.write(&b)
	for _, s := range r.notes {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		s.write(&b)
	}
	return b.String()
}

// write aligns the columns, so that the text reads well on a terminal too.
func (s section) write(b *strings.Builder) {
	width := make([]int, len(s.columns))
	for _, line := range append([][]string{s.columns}, s.lines...) {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	put := func(line []string) {
		for i, cell := range line {
			fmt.Fprintf(b, "| %-*s ", width[i], cell)
		}
		b.WriteString("|\n")
	}
	put(s.columns)
	for _, w := range width {
		b.WriteString("|" + strings.Repeat("-", w+2))
	}
	b.WriteString("|\n")
	for _, line := range s.lines {
		put(line)
	}
}

// number writes a figure with as many digits as mean something.
func number(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case v == math.Trunc(v) && abs < 1e6, abs >= 1000:
		return fmt.Sprintf("%.0f", v)
	case abs >= 100:
		return fmt.Sprintf("%.1f", v)
	case abs >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// peers are the modules whose versions RESULTS.md names.
var peers = []string{
	"github.com/danielgtaylor/huma/v2", "github.com/gin-gonic/gin", "github.com/go-chi/chi/v5", "github.com/go-chi/httprate",
	"github.com/go-redis/redis_rate/v10", "github.com/gofiber/fiber/v3", "github.com/labstack/echo/v4",
	"github.com/redis/go-redis/v9", "github.com/redis/rueidis", "github.com/ulule/limiter/v3",
}

// machine says what the figures were made on.
func machine(redis string) section {
	s := section{title: "Machine and versions", columns: []string{"what", "which"}}
	s.lines = append(s.lines,
		[]string{"CPU", fmt.Sprintf("%s, %d cores", cpuModel(), runtime.NumCPU())},
		[]string{"Go", fmt.Sprintf("%s %s/%s", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH)},
		[]string{"redis-server", redis},
	)
	versions := required()
	for _, peer := range peers {
		s.lines = append(s.lines, []string{peer, versions[peer]})
	}
	return s
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if name, value, ok := strings.Cut(scan.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// required reads the versions out of go.mod.
func required() map[string]string {
	versions := map[string]string{}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return versions
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 {
			versions[fields[0]] = fields[1]
		}
	}
	return versions
}
