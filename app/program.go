package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/onion"
)

// Program is the command line of an application.
type Program struct {
	// Name is the program's name in its help.
	Name string
	// Dirs are the directories looked in for the configuration when --config
	// does not name one; the first that holds one counts. They are relative to
	// the working directory.
	Dirs []string
	// Modules makes the application's modules; it is called once a build.
	Modules func() []onion.Module
	// Options are further options of New.
	Options []Option
	// Hints says, once the program listens, what to try; base is the URL of
	// the server.
	Hints func(base string) []string

	// Stdout and Stderr default to the process's, Environ to its environment.
	Stdout, Stderr io.Writer
	Environ        []string
}

// Main runs the program with the process's arguments until it ends or is told
// to (SIGINT, SIGTERM), and gives the exit code: 0 for success, 1 for failure, 2
// for a command line that makes no sense.
func (p Program) Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return p.Run(ctx, os.Args[1:])
}

// Run is Main with a context and arguments of the caller's.
func (p Program) Run(ctx context.Context, args []string) int {
	p = p.withDefaults()
	line, err := p.parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
		return 2
	}
	cmd, ok := commands[line.command]
	if !ok {
		fmt.Fprintf(p.Stderr, "%s: unknown command %q, try --help\n", p.Name, line.command)
		return 2
	}
	if err := cmd.run(ctx, p, line); err != nil {
		if _, usage := errors.AsType[usageError](err); usage {
			fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
			return 2
		}
		p.complain(line.command, err)
		return 1
	}
	return 0
}

func (p Program) withDefaults() Program {
	if p.Stdout == nil {
		p.Stdout = os.Stdout
	}
	if p.Stderr == nil {
		p.Stderr = os.Stderr
	}
	if p.Environ == nil {
		p.Environ = os.Environ()
	}
	return p
}

// complain prints an error, several as a numbered list.
func (p Program) complain(command string, err error) {
	var list onion.Errors
	if !errors.As(err, &list) || len(list) == 1 {
		fmt.Fprintf(p.Stderr, "%s %s: %v\n", p.Name, command, err)
		return
	}
	fmt.Fprintf(p.Stderr, "%s %s: %d errors\n", p.Name, command, len(list))
	for i, one := range list {
		fmt.Fprintf(p.Stderr, "%3d. %s\n", i+1, strings.ReplaceAll(one.Error(), "\n", "\n     "))
	}
}

// usageError is a command line that makes no sense.
type usageError string

func (e usageError) Error() string { return string(e) }

// commandLine is what was asked for.
type commandLine struct {
	command string
	args    []string
	config  string
	// json and instance are of inspect; instance is nil if it was not given.
	json     bool
	instance *string
}

type command struct {
	help string
	run  func(context.Context, Program, commandLine) error
}

// commands by name; help lists them in the order of commandNames.
var commands = map[string]command{
	"serve":   {"run the application until SIGINT or SIGTERM (the default)", serveCommand},
	"check":   {"check configuration, onions and routes, print every error and warning, start nothing", checkCommand},
	"inspect": {"show what is in force and where it was said, start nothing", inspectCommand},
}

var commandNames = []string{"serve", "check", "inspect"}

// parse accepts flags before and after the command.
func (p Program) parse(args []string) (commandLine, error) {
	line := commandLine{}
	flags := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	flags.SetOutput(p.Stderr)
	flags.StringVar(&line.config, "config", "", "`directory` of the application: it holds config.yaml, or a directory config that does")
	flags.BoolVar(&line.json, "json", false, "inspect: print JSON")
	flags.Func("instance", "inspect: the `name` of an instance", func(name string) error {
		line.instance = &name
		return nil
	})
	flags.Usage = func() {
		fmt.Fprintf(p.Stderr, "usage: %s [command] [--config DIR]\n\ncommands:\n", p.Name)
		for _, name := range commandNames {
			fmt.Fprintf(p.Stderr, "  %-8s %s\n", name, commands[name].help)
		}
		for _, name := range inspectionNames {
			fmt.Fprintf(p.Stderr, "           inspect %s %s\n", name, inspections[name].args)
		}
		fmt.Fprintln(p.Stderr, "\nflags:")
		flags.PrintDefaults()
	}
	var words []string
	for {
		if err := flags.Parse(args); err != nil {
			return line, err //nolint:wrapcheck // flag has printed it with the usage
		}
		if flags.NArg() == 0 {
			break
		}
		words = append(words, flags.Arg(0))
		args = flags.Args()[1:]
	}
	line.command = "serve"
	if len(words) > 0 {
		line.command, line.args = words[0], words[1:]
	}
	if line.command != "inspect" && (line.json || line.instance != nil) {
		return line, usageError("only inspect takes --json and --instance")
	}
	return line, nil
}

// load finds the configuration's directory and reads it.
func (p Program) load(line commandLine) (*config.Config, error) {
	dir, err := p.dir(line.config)
	if err != nil {
		return nil, err
	}
	return config.Load(config.Options{Dir: dir, Environ: p.Environ}) //nolint:wrapcheck // each of its errors names a file
}

// dir is the directory that holds config.yaml.
func (p Program) dir(asked string) (string, error) {
	candidates := p.Dirs
	if asked != "" {
		candidates = []string{asked}
	}
	for _, c := range candidates {
		for _, dir := range []string{filepath.Join(c, "config"), c} {
			if _, err := os.Stat(filepath.Join(dir, "config.yaml")); err == nil {
				return dir, nil
			}
		}
	}
	return "", fmt.Errorf("no config.yaml in %s, nor in a directory config there; name one with --config", strings.Join(candidates, ", "))
}
