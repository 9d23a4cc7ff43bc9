package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// watchSet is what is watched for one directory of configuration. All paths are absolute and free of links, so that a link
// that leads elsewhere now is another path.
type watchSet struct {
	inside []string        // the directory and that of the instances: everything in them counts
	beside []string        // other directories, in which only the paths of single count
	single map[string]bool // the way down to the directory, and what links in it lead to
}

// newWatchSet looks what is there now. The error says that the directory is not there; the set is good even so, to see
// it come back.
func newWatchSet(dir string) (watchSet, error) {
	set := watchSet{single: map[string]bool{}}
	named, err := filepath.Abs(dir)
	if err != nil {
		return set, err
	}
	set.addWay(named)
	_, missing := os.Stat(named)
	for _, path := range []string{named, filepath.Join(named, instancesDir)} {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			set.inside = append(set.inside, resolved)
			set.addTargets(resolved)
		}
	}
	return set, missing
}

// addWay adds what shows that the path leads elsewhere: the nearest directory above it that exists, and those that hold a
// link on the way.
func (s *watchSet) addWay(path string) {
	nearest := false
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		parent, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			continue
		}
		info, err := os.Lstat(path)
		if link := err == nil && info.Mode()&os.ModeSymlink != 0; link || !nearest {
			s.beside = append(s.beside, parent)
			s.single[parent] = true // it may itself be moved or removed
			s.single[filepath.Join(parent, filepath.Base(path))] = true
		}
		nearest = true
	}
}

// addTargets adds the files that links in the directory lead to.
func (s *watchSet) addTargets(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // reading the configuration reports it
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if target, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil {
			s.beside = append(s.beside, filepath.Dir(target))
			s.single[target] = true
		}
	}
}

func (s *watchSet) equal(other watchSet) bool {
	return slices.Equal(s.inside, other.inside) && slices.Equal(s.beside, other.beside) && maps.Equal(s.single, other.single)
}

// directories lists all that is watched.
func (s *watchSet) directories() []string { return slices.Concat(s.inside, s.beside) }

// concerns tells whether an event of the path may have changed the configuration.
func (s *watchSet) concerns(path string) bool {
	return s.single[path] || slices.Contains(s.inside, path) || slices.Contains(s.inside, filepath.Dir(path))
}
