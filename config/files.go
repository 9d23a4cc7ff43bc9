package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	instancesDir    = "instances"
	defaultInstance = "default"
	yamlExt         = ".yaml"
)

// file is one file as it was read.
type file struct {
	at   Position
	data []byte
}

// snapshot is the bytes of everything a load depends on. Parsing comes after, so that a reload can see that nothing
// changed.
type snapshot struct {
	choice    choice
	files     []file // low layer to high
	instances []file
	errs      Errors
}

type fingerprint [sha256.Size]byte

// sum tells one snapshot from another, faults of reading included.
func (s *snapshot) sum() fingerprint {
	h := sha256.New()
	for _, f := range slices.Concat(s.files, s.instances) {
		fmt.Fprintf(h, "%q %d\n", f.at.File, len(f.data))
		h.Write(f.data)
	}
	fmt.Fprintf(h, "%q %q", s.choice.env, s.errs.Error())
	return fingerprint(h.Sum(nil))
}

// readFiles reads every file that the options lead to.
func readFiles(o Options) *snapshot {
	s := &snapshot{}
	s.choice, s.errs = o.resolve()
	dir := s.choice.dir
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		if err == nil {
			err = errors.New("it is not a directory")
		}
		s.fail(Position{Layer: LayerBase, File: displayPath(dir)}, err, "the configuration's directory cannot be read: %s", reason(err))
		return s
	}
	s.readLayer(LayerBase, "config.yaml", true)
	if s.choice.mode != "" {
		s.readLayer(LayerMode, "config."+s.choice.mode+yamlExt, false)
	}
	if s.choice.flavor != "" {
		s.readLayer(LayerFlavor, "config."+s.choice.flavor+yamlExt, false)
	}
	s.readLayer(LayerLocal, "config.local.yaml", false)
	s.refuseMisnamed()
	s.readInstances()
	return s
}

func (s *snapshot) fail(at Position, cause error, format string, args ...any) {
	s.errs = append(s.errs, &Error{At: at, Message: fmt.Sprintf(format, args...), Cause: cause})
}

// readLayer reads one of the application's files. Only a file that is not there at all may be missing; a link to nothing
// is a mistake.
func (s *snapshot) readLayer(name, base string, required bool) {
	path := filepath.Join(s.choice.dir, base)
	at := Position{Layer: name, File: displayPath(path)}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, linkErr := os.Lstat(path); linkErr == nil {
			s.fail(at, err, "is a link to a file that does not exist")
		} else if required {
			s.fail(at, err, "there is no %s in the directory %q, the base of the configuration", base, displayPath(s.choice.dir))
		}
		return
	}
	if err != nil {
		s.fail(at, err, "cannot be read: %s", reason(err))
		return
	}
	s.files = append(s.files, file{at: at, data: data})
}

// unread are the faults of the application's files that are not there to be parsed, those of instances left out.
func (s *snapshot) unread() Errors {
	return slices.DeleteFunc(slices.Clone(s.errs), func(err error) bool {
		fault, ok := errors.AsType[*Error](err)
		return ok && fault.At.Layer == LayerInstance
	})
}

// refuseMisnamed reports files that look like layers and would be passed over: config.yml, config.prod.yml.
func (s *snapshot) refuseMisnamed() {
	entries, err := os.ReadDir(s.choice.dir)
	if err != nil {
		s.fail(Position{Layer: LayerBase, File: displayPath(s.choice.dir)}, err, "the configuration's directory cannot be listed: %s", reason(err))
		return
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "config.") && almostYAML(name) {
			at := Position{File: displayPath(filepath.Join(s.choice.dir, name))}
			s.fail(at, nil, "is passed over under this name, its ending must be %s", yamlExt)
		}
	}
}

// readInstances reads instances/*.yaml. Names that begin with a dot (editors' lock files, Kubernetes' ..data) and other
// endings are passed over; .yml and .YAML are refused, because they were meant.
func (s *snapshot) readInstances() {
	dir := filepath.Join(s.choice.dir, instancesDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		s.fail(Position{Layer: LayerInstance, File: displayPath(dir)}, err, "the directory of instances cannot be read: %s", reason(err))
		return
	}
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(dir, name)
		at := Position{Layer: LayerInstance, File: displayPath(path)}
		switch {
		case name == yamlExt:
			s.fail(at, nil, "has no name; the file of the default instance is %s%s", defaultInstance, yamlExt)
		case strings.HasPrefix(name, "."):
		case almostYAML(name):
			s.fail(at, nil, "is passed over under this name, its ending must be %s", yamlExt)
		case name == "null"+yamlExt:
			s.fail(at, nil, `no instance can be called "null", which means none (contract D1)`)
		case strings.HasSuffix(name, yamlExt):
			data, err := os.ReadFile(path)
			if err != nil {
				s.fail(at, err, "cannot be read: %s", reason(err))
				continue
			}
			s.instances = append(s.instances, file{at: at, data: data})
		}
	}
}

// almostYAML tells endings that people use for YAML and this package does not.
func almostYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext != yamlExt && (strings.EqualFold(ext, yamlExt) || strings.EqualFold(ext, ".yml"))
}

func instanceName(base string) string {
	name := strings.TrimSuffix(base, yamlExt)
	if name == defaultInstance {
		return ""
	}
	return name
}

// reason is what the system says, without the operation and the path that os puts before it.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}
