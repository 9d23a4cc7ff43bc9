package faults

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	matrix = flag.Bool("matrix", false, "measure, print the table of docs/reliability.md, and fail where a promise is not kept")
	only   = flag.String("fault", "", "with -matrix: only faults whose name matches")
	out    = flag.String("out", "", "with -matrix: write the table to this file too")
)

// What is promised (docs/reliability.md).
const (
	timeout     = 100 * time.Millisecond // the default of the limiter's client
	maxAdded    = timeout + 20*time.Millisecond
	maxOpen     = time.Millisecond
	maxRecovery = time.Second
)

// tries is how often a run is made that misses a promise about time: a machine that does something else for a moment misses it
// too. The last one counts, and the table tells how many there were.
const tries = 5

// line is a line of the table.
type line struct {
	fault   fault
	mode    mode
	tried   []decision // with no breaker, so that every attempt meets the fault
	guarded outcome    // with the breaker
	runs    int
	wrong   []string
}

// TestMatrix measures every fault in every mode, one after the other.
func TestMatrix(t *testing.T) {
	if !*matrix {
		t.Log("nothing is measured without -matrix")
		return
	}
	chosen := regexp.MustCompile(*only)
	var lines []line
	for _, f := range all() {
		for _, m := range modes {
			if !chosen.MatchString(f.name) {
				continue
			}
			l := line{fault: f, mode: m}
			for l.runs = 1; ; l.runs++ {
				wrong, slow := l.measure(t)
				l.wrong = slices.Concat(wrong, slow)
				if len(wrong) > 0 || len(slow) == 0 || l.runs == tries {
					break
				}
			}
			for _, wrong := range l.wrong {
				t.Errorf("%s, %s: %s", f.name, m, wrong)
			}
			lines = append(lines, l)
		}
	}
	write(t, os.Stdout, lines)
	if *out != "" {
		file, err := os.Create(*out)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		write(t, file, lines)
	}
}

// measure makes two runs: one without the breaker, for the wait that a fault itself adds, and one with it.
func (l *line) measure(t *testing.T) (wrong, slow []string) {
	t.Helper()
	bare := plan{settings: settings{timeout: timeout, pool: 20, limit: 1_000_000}, callers: 8, during: time.Second, pause: 2 * time.Millisecond}
	t.Run("bare", func(t *testing.T) {
		_, o := run(t, l.fault, l.mode, bare)
		l.tried = o.under
		wrong = append(wrong, judge(l.fault, l.mode, bare, o)...)
	})
	p := bare
	p.breaker, p.during, p.leaks = true, 1500*time.Millisecond, true
	t.Run("guarded", func(t *testing.T) {
		b, o := run(t, l.fault, l.mode, p)
		b.strays()
		l.guarded = o
		wrong = append(wrong, judge(l.fault, l.mode, p, o)...)
	})
	if n := l.guarded.goroutines; n > 0 {
		wrong = append(wrong, fmt.Sprintf("%d goroutines more than before", n))
	}
	fails := l.fault.verdict == fails && !l.fault.private
	if opened := l.opened(); fails && len(opened) == 0 {
		wrong = append(wrong, "the breaker never opened")
	}
	exceeds := func(what string, d, bound time.Duration) {
		if d > bound {
			slow = append(slow, fmt.Sprintf("%s is %v, promised are %v", what, d, bound))
		}
	}
	for _, d := range append(l.tried, l.guarded.under...) {
		if d.stalled(l.fault, p) {
			slow = append(slow, fmt.Sprintf("an attempt took %v, which this fault does not explain", d.took))
			break
		}
	}
	exceeds("p99 of the added wait", quantile(took(l.tried), 0.99), maxAdded)
	exceeds("p99 of the added wait, with the breaker,", quantile(took(l.guarded.under), 0.99), maxAdded)
	exceeds("p99 while the breaker is open", quantile(l.opened(), 0.99), maxOpen)
	exceeds("recovery", l.guarded.recovery, maxRecovery)
	return wrong, slow
}

// opened are the waits of those that the open breaker refused.
func (l *line) opened() []time.Duration {
	var all []time.Duration
	for _, d := range l.guarded.under {
		if d.open() {
			all = append(all, d.took)
		}
	}
	return all
}

func took(all []decision) []time.Duration {
	waits := make([]time.Duration, len(all))
	for i, d := range all {
		waits[i] = d.took
	}
	return waits
}

// verdict puts into words what was decided: the status, and the class of the failure.
func (l *line) verdict() string {
	words := map[verdict]string{fails: "passes", admitted: "admitted", rejected: "passes", mixed: "admitted, or passes"}
	if l.mode.enforce {
		words = map[verdict]string{fails: "503", admitted: "admitted", rejected: "429", mixed: "admitted, or 503"}
	}
	text := words[l.fault.verdict]
	if l.fault.class != "" {
		text += ", " + l.fault.class
	}
	return text
}

// write writes the table.
func write(t *testing.T, w io.Writer, lines []line) {
	t.Helper()
	fmt.Fprintf(w, "%s, %d processors, GOMAXPROCS %d; times in ms\n\n", runtime.Version(), runtime.NumCPU(), runtime.GOMAXPROCS(0))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "fault\tmode\tverdict\tdecisions\tp50\tp99\topen p50\topen p99\trecovery\tlate\tevents each\tgoroutines\tconnections\truns\tkept")
	for _, l := range lines {
		events, n := 0, len(l.tried)+len(l.guarded.under)
		for _, list := range [][]decision{l.tried, l.guarded.under} {
			for _, d := range list {
				events += len(d.events)
			}
		}
		opened, each := l.opened(), "-"
		if n > 0 {
			each = fmt.Sprintf("%.2f", float64(events)/float64(n))
		}
		kept := "yes"
		if len(l.wrong) > 0 {
			kept = "NO"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%+d\t%d\t%d\t%s\n", l.fault.name, l.mode, l.verdict(), n,
			ms(quantile(took(l.tried), 0.5)), ms(quantile(took(l.tried), 0.99)), openMs(opened, 0.5), openMs(opened, 0.99),
			ms(l.guarded.recovery), l.guarded.late, each, l.guarded.goroutines, l.guarded.open, l.runs, kept)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

func openMs(all []time.Duration, q float64) string {
	if len(all) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", quantile(all, q).Seconds()*1000)
}
