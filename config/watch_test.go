package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outcome is one call of onChange.
type outcome struct {
	cfg *Config
	err error
}

func (o outcome) String() string {
	if o.err != nil {
		return "error: " + o.err.Error()
	}
	value, _ := o.cfg.Get("v")
	text := fmt.Sprint("v=", value)
	for _, i := range o.cfg.Instances() {
		value, _ := i.Get("v")
		text += fmt.Sprintf(" %s=%v", i.Name, value)
	}
	return text
}

// watched is a running Watcher and what it told.
type watched struct {
	*Watcher
	t    *testing.T
	told chan outcome
	stop context.CancelFunc
}

// watchDir loads and watches the directory "config" until the test ends.
func watchDir(t *testing.T, opts ...WatchOption) *watched {
	t.Helper()
	c, err := Load(Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	return watchConfig(t, c, opts...)
}

func watchConfig(t *testing.T, c *Config, opts ...WatchOption) *watched {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &watched{t: t, told: make(chan outcome, 100), stop: stop}
	var err error
	w.Watcher, err = Watch(ctx, c, func(c *Config, err error) { w.told <- outcome{c, err} },
		append([]WatchOption{WatchQuiet(30 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		<-w.Done()
	})
	return w
}

// next waits for the next call of onChange.
func (w *watched) next() outcome {
	w.t.Helper()
	select {
	case o := <-w.told:
		return o
	case <-time.After(20 * time.Second):
		w.t.Fatal("onChange was not called")
		return outcome{}
	}
}

// want waits until onChange tells the wanted outcome; outcomes before it must be ones that a half-made change may show.
func (w *watched) want(want string, between ...string) {
	w.t.Helper()
	for {
		got := w.next().String()
		if got == want {
			return
		}
		allowed := false
		for _, b := range between {
			allowed = allowed || strings.HasPrefix(got, b)
		}
		if !allowed {
			w.t.Fatalf("onChange told %q, want %q", got, want)
		}
	}
}

// begun waits until the look at the beginning is over, so that what comes now is seen as events.
func (w *watched) begun() {
	w.t.Helper()
	w.Reload()
	w.next()
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchFiles(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	w := watchDir(t)
	writeFile(t, "config/config.yaml", "v: 2") // in place: truncated first
	w.want("v=2", "v=<nil>")
	writeFile(t, "config/config.yaml.new", "v: 3")
	rename(t, "config/config.yaml.new", "config/config.yaml") // as editors do
	w.want("v=3")
	rename(t, "config/config.yaml", "config/config.yaml~") // as other editors do
	writeFile(t, "config/config.yaml", "v: 4")
	w.want("v=4", "v=<nil>", "error: config/config.yaml: there is no config.yaml")
	writeFile(t, "config/config.local.yaml", "v: 5")
	w.want("v=5", "v=4")
	remove(t, "config/config.local.yaml")
	w.want("v=4")
	writeFile(t, "config/instances/acme.eu.yaml", "v: 6") // the directory is new too
	w.want("v=4 acme.eu=6", "v=4")
	writeFile(t, "config/instances/acme.eu.yaml", "v: 7")
	w.want("v=4 acme.eu=7", "v=4 acme.eu=<nil>")
	remove(t, "config/instances")
	w.want("v=4", "v=4 acme.eu")
	writeFile(t, "config/instances/default.yaml", "v: 8")
	w.want("v=4 =8", "v=4")
}

func TestWatchBrokenThenFixed(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1", "config/instances/acme.yaml": "v: 1"})
	w := watchDir(t)
	for range 3 { // an error must not be the last thing that is seen
		replace(t, "config/instances/acme.yaml", "v: [")
		o := w.next()
		if o.cfg == nil || o.cfg.Err() == nil {
			t.Fatal("what comes with the error does not say that it is a part")
		}
		wantLines(t, o.err, "config/instances/acme.yaml:1: malformed YAML: did not find expected node content")
		replace(t, "config/instances/acme.yaml", "v: 1") // what it was at first
		w.want("v=1 acme=1")
	}
}

// replace puts a file in place whole.
func replace(t *testing.T, name, text string) {
	t.Helper()
	next := filepath.Join(t.TempDir(), "next")
	writeFile(t, next, text)
	rename(t, next, name)
}

// TestWatchConfigMap swaps links as Kubernetes does: files and the directory of instances are links through ..data.
func TestWatchConfigMap(t *testing.T) {
	inDir(t, map[string]string{"config/..1/config.yaml": "v: 1", "config/..1/instances/acme.yaml": "v: 1"})
	symlink(t, "..1", "config/..data")
	symlink(t, "..data/config.yaml", "config/config.yaml")
	symlink(t, "..data/instances", "config/instances")
	w := watchDir(t)
	for n := 2; n < 6; n++ {
		data := fmt.Sprintf("..%d", n)
		writeFile(t, "config/"+data+"/config.yaml", fmt.Sprint("v: ", n))
		writeFile(t, "config/"+data+"/instances/acme.yaml", fmt.Sprint("v: ", n))
		symlink(t, data, "config/..data_tmp")
		rename(t, "config/..data_tmp", "config/..data")
		remove(t, fmt.Sprintf("config/..%d", n-1))
		w.want(fmt.Sprintf("v=%d acme=%d", n, n))
	}
	replace(t, "config/..5/instances/acme.yaml", "v: 9") // the watches moved along
	w.want("v=5 acme=9")
	if got := len(w.fs.WatchList()); got > 6 {
		t.Errorf("%d watches are left: %v", got, w.fs.WatchList())
	}
}

func TestWatchLinks(t *testing.T) {
	inDir(t, map[string]string{"elsewhere/real": "v: 1", "releases/1/config/config.yaml": "v: 1", "releases/2/config/config.yaml": "v: 2"})
	t.Run("a file behind a link", func(t *testing.T) {
		symlink(t, "../elsewhere/real", "config/config.yaml")
		w := watchDir(t)
		w.begun()
		replace(t, "elsewhere/real", "v: 2")
		w.want("v=2")
		writeFile(t, "elsewhere/real", "v: 3")
		w.want("v=3", "v=<nil>")
	})
	t.Run("a directory above that is a link", func(t *testing.T) {
		symlink(t, "releases/1", "current")
		c, err := Load(Options{Dir: "current/config", Environ: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		w := watchConfig(t, c)
		w.begun()
		symlink(t, "releases/2", "next")
		rename(t, "next", "current")
		w.want("v=2")
		replace(t, "releases/2/config/config.yaml", "v: 3")
		w.want("v=3")
	})
}

func TestWatchDirectoryGoesAndComesBack(t *testing.T) {
	inDir(t, map[string]string{"a/b/config/config.yaml": "v: 1"})
	c, err := Load(Options{Dir: "a/b/config", Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	w := watchConfig(t, c)
	w.begun()
	rename(t, "a/b", "gone")
	w.want("error: a/b/config: the configuration's directory cannot be read: no such file or directory")
	rename(t, "gone", "a/b")
	w.want("v=1")
	replace(t, "a/b/config/config.yaml", "v: 2")
	w.want("v=2")
	remove(t, "a")
	w.want("error: a/b/config: the configuration's directory cannot be read: no such file or directory",
		"error: a/b/config/config.yaml: there is no config.yaml")
	writeFile(t, "a/b/config/config.yaml", "v: 3")
	w.want("v=3", "error: a/b/config", "v=<nil>")
}

func TestWatchSeesWhatChangedBefore(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	c, err := Load(Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "config/config.yaml", "v: 2")
	watchConfig(t, c, WatchQuiet(time.Hour), WatchMaxWait(time.Hour)).want("v=2")
}

func TestDebounce(t *testing.T) {
	const ms = time.Millisecond
	start := time.Now()
	d := debounce{quiet: 200 * ms, maxWait: 500 * ms}
	for _, step := range []struct {
		at, due time.Duration
		moved   bool
		reset   bool
	}{
		{at: 0, due: 200 * ms, moved: true},
		{at: 0, due: 200 * ms},
		{at: 150 * ms, due: 350 * ms, moved: true},
		{at: 290 * ms, due: 490 * ms, moved: true},
		{at: 301 * ms, due: 500 * ms, moved: true},
		{at: 499 * ms, due: 500 * ms}, // the bound
		{at: 600 * ms, due: 500 * ms}, // late, and it stays so
		{at: 700 * ms, due: 900 * ms, moved: true, reset: true},
	} {
		if step.reset {
			d.reset()
		}
		due, moved := d.event(start.Add(step.at))
		if due.Sub(start) != step.due || moved != step.moved {
			t.Errorf("event at %v is answered at %v (moved: %v), want %v (%v)", step.at, due.Sub(start), moved, step.due, step.moved)
		}
	}
}

func TestWatchIsNotStarved(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 0"})
	w := watchDir(t, WatchQuiet(time.Hour), WatchMaxWait(100*time.Millisecond))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile("config/noise", fmt.Append(nil, n), 0o644)
			}
		}
	})
	replace(t, "config/config.yaml", "v: 1")
	w.want("v=1")
	replace(t, "config/config.yaml", "v: 2")
	w.want("v=2")
	close(stop)
	writer.Wait()
}

func TestReload(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	w := watchDir(t, WatchQuiet(time.Hour), WatchMaxWait(time.Hour))
	w.Reload()
	w.want("v=1") // told although nothing changed
	writeFile(t, "config/config.yaml", "v: [")
	w.Reload()
	w.want("error: config/config.yaml:1: malformed YAML: did not find expected node content")
	writeFile(t, "config/config.yaml", "v: 2")
	w.Reload()
	w.want("v=2")
}

func TestReloadFromOnChange(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	c, err := Load(Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	begun := make(chan *Watcher, 1)
	calls := 0
	w, err := Watch(ctx, c, func(*Config, error) {
		w := <-begun
		begun <- w
		if calls++; calls == 3 {
			stop()
			return
		}
		w.Reload()
		w.Reload() // one that waits is enough
	})
	if err != nil {
		t.Fatal(err)
	}
	begun <- w
	w.Reload()
	select {
	case <-w.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("a reload asked for by onChange did not come")
	}
	if calls != 3 {
		t.Errorf("onChange was called %d times", calls)
	}
}

func TestSameBytesAreNoChange(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	c, err := Load(Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	w, err := newWatcher(c, func(*Config, error) { told++ }, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.fs.Close()
	for i, step := range []struct {
		text string
		told int
	}{{"v: 1", 0}, {"v: 2", 1}, {"v: 2", 1}, {"v: [", 2}, {"v: [", 2}, {"v: 2", 3}} {
		writeFile(t, "config/config.yaml", step.text)
		if w.load(t.Context(), false); told != step.told {
			t.Errorf("after step %d onChange was called %d times, want %d", i, told, step.told)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if w.load(ended, true); told != 3 {
		t.Error("onChange was called after the context ended")
	}
}

func TestSettled(t *testing.T) {
	for _, tc := range []struct {
		name  string
		texts []string // what reading after reading finds, the last one from then on
		want  string
		reads int
	}{
		{"at rest", []string{"new"}, "new", 2},
		{"a swap between two files", []string{"half", "new"}, "new", 3},
		{"two swaps", []string{"old", "half", "new"}, "new", 4},
		{"never at rest", []string{"1", "2", "3", "4", "5", "6", "7", "8"}, "6", 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			reads := 0
			s, sum := settled(func() *snapshot {
				text := tc.texts[min(reads, len(tc.texts)-1)]
				reads++
				return &snapshot{files: []file{{data: []byte(text)}}}
			})
			if got := string(s.files[0].data); got != tc.want || reads != tc.reads || sum != s.sum() {
				t.Errorf("%q after %d readings, want %q after %d", got, reads, tc.want, tc.reads)
			}
		})
	}
}

func TestWatchSurvivesItsOwnTrouble(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	w := watchDir(t)
	for n := 2; n < 5; n++ {
		w.fs.Errors <- fsnotify.ErrEventOverflow // not told, there is nothing to be done about it
		w.fs.Errors <- errors.New("no more watches")
		w.want("error: config: watching: no more watches")
		replace(t, "config/config.yaml", fmt.Sprint("v: ", n))
		w.want(fmt.Sprint("v=", n))
	}
}

func TestWatchEnds(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	w := watchDir(t)
	w.stop()
	<-w.Done()
	writeFile(t, "config/config.yaml", "v: 2")
	w.Reload()
	w.Reload() // nobody takes it, nobody waits
	select {
	case o := <-w.told:
		t.Errorf("after the end: %v", o)
	default:
	}
}

func TestWatchThatCannotBegin(t *testing.T) {
	inDir(t, map[string]string{"config/config.yaml": "v: 1"})
	c, err := Load(Options{Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	remove(t, "config")
	_, err = Watch(t.Context(), c, func(*Config, error) {})
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "config: config cannot be watched: ") {
		t.Errorf("got %v", err)
	}
}
