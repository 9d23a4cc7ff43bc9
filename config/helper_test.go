package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inDir makes the files in a fresh directory and works there, so that messages name short paths.
func inDir(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range slices.Sorted(maps.Keys(files)) {
		writeFile(t, name, files[name])
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// load loads the files given as "config.yaml" -> text with the environment given as NAME=value.
func load(t *testing.T, files map[string]string, environ ...string) (*Config, error) {
	t.Helper()
	inDir(t, nil)
	for name, text := range files {
		writeFile(t, "config/"+name, text)
	}
	return Load(Options{Environ: append([]string{}, environ...)})
}

func mustLoad(t *testing.T, files map[string]string, environ ...string) *Config {
	t.Helper()
	c, err := load(t, files, environ...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// base is a configuration of one file.
func base(t *testing.T, text string) *Config {
	t.Helper()
	return mustLoad(t, map[string]string{"config.yaml": text})
}

// wantLines compares the faults of an error, one per line.
func wantLines(t *testing.T, err error, want ...string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func asErrors(t *testing.T, err error) Errors {
	t.Helper()
	var errs Errors
	if !errors.As(err, &errs) {
		t.Fatalf("%T is no Errors: %v", err, err)
	}
	return errs
}

// splitBar splits the lines that a table writes into one text.
func splitBar(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "|")
}
