//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const missing = "the programs of a PostgreSQL server (initdb, postgres) are neither on PATH, nor where pg_config --bindir says, nor in " +
	"/usr/lib/postgresql/*/bin, and this test needs a real server. Install it (Debian or Ubuntu: apt-get install postgresql; Fedora: " +
	"dnf install postgresql-server; macOS: brew install postgresql), or run `make test`, which installs it where it may"

// findBin finds the directory of the server's programs.
func findBin() (string, error) {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(context.Background(), "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.SortFunc(debian, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range append(dirs, debian...) {
		if isProgram(filepath.Join(dir, "initdb")) && isProgram(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New(missing)
}

// version is the number in /usr/lib/postgresql/<number>/bin; 0 if it is none.
func version(dir string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
	if err != nil {
		return 0
	}
	return n
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// users are whom the server runs as when the tests run as root: the first that exists.
var users = []string{"postgres", "vonago-test", "nobody"}

// credential gives the user to run the server as; nil is the test's own.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // none is what nil says to os/exec too
	}
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("the tests run as root, which PostgreSQL refuses, and none of the users %s exists to run it as; "+
		"`make test` makes one (useradd --system %s)", strings.Join(users, ", "), users[1])
}

// initdb makes the data directory. It lies in a directory that the server's user can reach, which one of the test's own
// need not be.
func (s *Server) initdb() error {
	dir, err := os.MkdirTemp("", "vonago-pgtest-")
	if err != nil {
		return err
	}
	s.dir = dir
	if s.cred != nil {
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return err
		}
	}
	cmd, closeLog, err := s.command("initdb", "-D", s.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err != nil {
		return err
	}
	defer closeLog()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w; it said:\n%s", err, tail(s.Log()))
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command prepares a program of the server, whose output goes to the log; closeLog is called once it has started.
func (s *Server) command(program string, args ...string) (cmd *exec.Cmd, closeLog func(), err error) {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	cmd = exec.CommandContext(context.Background(), filepath.Join(s.bin, program), args...) //nolint:gosec // of the test's own choice
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.dir, environment(), procAttr()
	cmd.SysProcAttr.Credential = s.cred
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, func() { _ = log.Close() }, nil
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// environment is the test's own without what would steer the server elsewhere.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "PG") || strings.HasPrefix(entry, "LC_") || strings.HasPrefix(entry, "LANG")
	})
}
