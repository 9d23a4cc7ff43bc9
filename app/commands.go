package app

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// serveCommand runs the application.
func serveCommand(ctx context.Context, p Program, line commandLine) error {
	if len(line.args) > 0 {
		return usageError(fmt.Sprintf("serve takes no argument, got %q", line.args[0]))
	}
	a, err := p.build(line)
	if err != nil {
		return err
	}
	defer reloadOnHangup(a)()
	return a.Serve(ctx, func(base string) {
		fmt.Fprintf(p.Stdout, "%s listens on %s\n", p.Name, base)
		if p.Hints == nil {
			return
		}
		for _, hint := range p.Hints(base) {
			fmt.Fprintln(p.Stdout, hint)
		}
	})
}

// reloadOnHangup reloads the configuration's files on SIGHUP until the function
// it returns is called.
func reloadOnHangup(a *App) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			a.ReloadFiles()
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
	}
}

// checkCommand builds the application and says what it found.
func checkCommand(_ context.Context, p Program, line commandLine) error {
	if len(line.args) > 0 {
		return usageError(fmt.Sprintf("check takes no argument, got %q", line.args[0]))
	}
	a, err := p.build(line)
	if err != nil {
		return err
	}
	warnings := a.Warnings()
	for _, w := range warnings {
		fmt.Fprintf(p.Stdout, "warning: %s\n", w)
	}
	fmt.Fprintf(p.Stdout, "%s: %d routes, %d instances, %d warnings, no errors\n", p.Name, len(a.Routes()), len(a.Instances()), len(warnings))
	return nil
}

// build loads the configuration and builds the application. A configuration of
// which a part cannot be read is checked as far as it goes, so that one run
// names all that is wrong.
func (p Program) build(line commandLine) (*App, error) {
	cfg, err := p.load(line)
	if cfg == nil {
		return nil, err
	}
	options := append([]Option{WithLogOutput(p.Stderr)}, p.Options...)
	return New(cfg, p.Modules(), options...)
}
