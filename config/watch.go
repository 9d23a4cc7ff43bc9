package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	defaultQuiet   = 200 * time.Millisecond
	defaultMaxWait = time.Second
)

// Watcher reloads a configuration whose files change (issue 3, reload).
type Watcher struct {
	options  Options
	onChange func(*Config, error)
	quiet    time.Duration
	maxWait  time.Duration

	fs    *fsnotify.Watcher
	watch watchSet
	last  fingerprint // of the files at the last load, failed or not
	force chan struct{}
	done  chan struct{}
}

// WatchOption changes how Watch waits.
type WatchOption func(*Watcher)

// WatchQuiet sets how long nothing must change before the files are loaded, 200 ms by default.
func WatchQuiet(d time.Duration) WatchOption { return func(w *Watcher) { w.quiet = d } }

// WatchMaxWait bounds the wait after the first change, 1 s by default, so that a steady stream of changes puts the load off
// no longer.
func WatchMaxWait(d time.Duration) WatchOption { return func(w *Watcher) { w.maxWait = d } }

// Watch follows the files that current was loaded from, and the instances', until the context ends. When they have changed
// and then been quiet for a moment, they are loaded together with the same options, and onChange is called: with the new
// configuration, or with what Load gives beside its error; then nothing else has changed and the next change is tried again. A
// change that leaves the files' bytes as they were is none. What changed between the load of current and Watch is found.
// Trouble of the watching itself also comes as an error to onChange, without a configuration, and the watching goes on.
//
// Directories are watched and not files, so editors that replace a file and Kubernetes' swapped links are seen; so are the
// targets of links, and a directory that goes away and comes back.
//
// onChange is called by one goroutine, one call at a time; it must not wait for Done. The error says that the watching
// could not begin.
func Watch(ctx context.Context, current *Config, onChange func(*Config, error), opts ...WatchOption) (*Watcher, error) {
	w, err := newWatcher(current, onChange, opts)
	if err != nil {
		return nil, err
	}
	go w.run(ctx)
	return w, nil
}

func newWatcher(current *Config, onChange func(*Config, error), opts []WatchOption) (*Watcher, error) {
	w := &Watcher{
		options: current.options, onChange: onChange, quiet: defaultQuiet, maxWait: defaultMaxWait,
		last: current.sum, force: make(chan struct{}, 1), done: make(chan struct{}),
	}
	for _, opt := range opts {
		opt(w)
	}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("config: the files cannot be watched: %w", err)
	}
	w.fs = fs
	if err := w.follow(current.Dir()); err != nil {
		return nil, errors.Join(fmt.Errorf("config: %s cannot be watched: %w", displayPath(current.Dir()), err), fs.Close())
	}
	return w, nil
}

// Reload loads the files at once, changed or not, and calls onChange from the watching goroutine: what SIGHUP asks for. It
// does not wait, and may be called at any time, also by onChange.
func (w *Watcher) Reload() {
	select {
	case w.force <- struct{}{}:
	default: // one is waiting already
	}
}

// Done is closed when the context has ended and onChange will not be called again.
func (w *Watcher) Done() <-chan struct{} { return w.done }

func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	defer w.fs.Close()
	timer := time.NewTimer(0) // the files may have changed since current was loaded
	defer timer.Stop()
	rest := debounce{quiet: w.quiet, maxWait: w.maxWait}
	arm := func() {
		if at, changed := rest.event(time.Now()); changed {
			timer.Reset(time.Until(at))
		}
	}
	load := func(force bool) {
		rest.reset()
		timer.Stop()
		w.load(ctx, force)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.force:
			load(true)
		case <-timer.C:
			load(false)
		case event, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if w.watch.concerns(event.Name) {
				arm()
			}
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.onChange(nil, fmt.Errorf("config: watching: %w", err))
			}
			arm() // something may have been missed
		}
	}
}

// debounce tells when a stream of events has been quiet for long enough.
type debounce struct {
	quiet, maxWait time.Duration
	first, due     time.Time // the first event that waits, and when it is to be answered; zero if none waits
}

// event notes an event. It gives the moment to answer it and all that wait, and whether that moment has moved: a timer that
// is set to the same moment again and again might never fire.
func (d *debounce) event(now time.Time) (due time.Time, moved bool) {
	if d.first.IsZero() {
		d.first = now
	}
	due = now.Add(d.quiet)
	if last := d.first.Add(d.maxWait); due.After(last) {
		due = last
	}
	moved = !due.Equal(d.due)
	d.due = due
	return due, moved
}

// reset says that the events were answered.
func (d *debounce) reset() { d.first, d.due = time.Time{}, time.Time{} }

// load reads the files and tells of them if they are not as they were.
func (w *Watcher) load(ctx context.Context, force bool) {
	// The watches come first: what changes after them, while the files are read, is an event again. Where they fail, so
	// does the reading.
	_ = w.follow(w.options.dir())
	s, sum := settled(func() *snapshot { return readFiles(w.options) })
	if !force && sum == w.last || ctx.Err() != nil {
		return
	}
	w.last = sum
	w.onChange(s.build(w.options))
}

// A few tries are enough for anything but a directory that never rests, of which another event will come.
const settleTries = 5

// settled reads until two readings agree, because a swap of links may come between the reading of two files.
func settled(read func() *snapshot) (*snapshot, fingerprint) {
	s := read()
	sum := s.sum()
	for range settleTries {
		again := read()
		if next := again.sum(); next != sum {
			s, sum = again, next
			continue
		}
		break
	}
	return s, sum
}

// follow sets the watches to what the directory leads to now, and looks again whether it still does. The error says that
// the directory itself is not watched; those beside it are watched as far as they can be.
func (w *Watcher) follow(dir string) error {
	set, err := newWatchSet(dir)
	for range settleTries {
		w.watch = set
		for _, path := range w.fs.WatchList() {
			if !slices.Contains(set.directories(), path) {
				_ = w.fs.Remove(path) // at worst it is gone by itself meanwhile
			}
		}
		for _, path := range set.beside {
			_ = w.fs.Add(path)
		}
		for _, path := range set.inside {
			err = errors.Join(err, w.fs.Add(path))
		}
		next, nextErr := newWatchSet(dir)
		if set.equal(next) {
			break
		}
		set, err = next, nextErr
	}
	return err
}
