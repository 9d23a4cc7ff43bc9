package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

const modulePath = "github.com/vonago/vonago"

func TestProject(t *testing.T) {
	for _, complaint := range inspect(t, os.DirFS("../..")) {
		t.Error(complaint)
	}
}

func TestEveryRowHasItsReason(t *testing.T) {
	for _, e := range edges {
		if e.from == "" || e.to == "" || e.reason == "" {
			t.Errorf("edge %+v is not complete", e)
		}
	}
	for _, m := range thirds {
		if m.module == "" || len(m.leaves) == 0 || m.reasons == "" {
			t.Errorf("third party %+v is not complete", m)
		}
	}
	for name, reason := range unwanted {
		if reason == "" {
			t.Errorf("%s is unwanted without a reason", name)
		}
	}
}

// TestInspect shows that each rule can fail, on small trees.
func TestInspect(t *testing.T) {
	self := modulePath + "/"
	tests := []struct {
		name, file, text string
		want             string // in the only complaint; none if empty
	}{
		{"allowed edge", "instance/a.go", `package instance; import _ "` + self + `onion"`, ""},
		{"edge upwards", "onion/a.go", `package onion; import _ "` + self + `config"`, "onion imports config"},
		{"edge to a module", "app/a.go", `package app; import _ "` + self + `modules/acore"`, "app imports modules/acore"},
		{"edge of a new package", "novel/a.go", `package novel; import _ "` + self + `onion"`, "novel imports onion"},
		{"edge below a named one", "onion/sub/a.go", `package sub; import _ "` + self + `instance"`, "onion/sub imports instance"},
		{"edge of a program", "examples/student/a.go", `package main; import _ "` + self + `modules/acore"`, ""},
		{"edge behind a build tag", "onion/a_windows.go", "//go:build never\n\npackage onion; import _ \"" + self + `app"`, "onion imports app"},
		{"edge of a test", "onion/a_test.go", `package onion; import _ "` + self + `internal/redistest"`, ""},
		{"other module that begins alike", "onion/a.go", `package onion; import _ "` + modulePath + `x/onion"`, "third party"},
		{"third party at its leaf", "modules/aredis/a.go", `package aredis; import _ "github.com/redis/go-redis/v9/maintnotifications"`, ""},
		{"third party elsewhere", "executor/a.go", `package executor; import _ "github.com/redis/go-redis/v9"`, "executor imports"},
		{"third party unknown", "app/a.go", `package app; import _ "example.com/x"`, "third party"},
		{"third party that begins alike", "config/a.go", `package config; import _ "github.com/knadh/koanfx"`, "third party"},
		{"standard library", "onion/a.go", `package onion; import ("log/slog"; "net/http")`, ""},
		{"unwanted standard library", "app/a.go", `package app; import _ "net/http/pprof"`, "net/http/pprof"},
		{"init", "onion/a.go", "package onion\n\nfunc init() {}", "func init"},
		{"method called init", "onion/a.go", "package onion\n\ntype t int\n\nfunc (t) init() {}", ""},
		{"vague name", "onion/util/a.go", "package util", "says nothing"},
		{"open word", "onion/a.go", "package onion\n\n// " + openWords[0] + ": later", "line 3"},
		{"open word in a test", "onion/a_test.go", "package onion // " + openWords[1], "line 1"},
		{"open word inside another", "onion/a.go", "package onion // " + openWords[3] + "NEY", ""},
		{"long file", "onion/a.go", "package onion" + strings.Repeat("\n", maxLines+1), "lines"},
		{"long enough", "onion/a.go", "package onion" + strings.Repeat("\n", maxLines), ""},
		{"long test", "onion/a_test.go", "package onion" + strings.Repeat("\n", 2*maxLines), ""},
		{"broken file", "onion/a.go", "package", "expected"},
		{"test data", "onion/testdata/a.go", "nonsense", ""},
		{"hidden directory", ".tools/a.go", "nonsense", ""},
		{"other module", "bench/sub/a.go", `package bench; import _ "example.com/x"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := fstest.MapFS{
				tt.file:        {Data: []byte(tt.text)},
				"go.mod":       {},
				"bench/go.mod": {},
			}
			got := inspect(t, tree)
			switch {
			case tt.want == "" && len(got) != 0:
				t.Errorf("complaints %q, want none", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want) || !strings.Contains(got[0], tt.file)):
				t.Errorf("complaints %q, want one with %q and %q", got, tt.file, tt.want)
			}
		})
	}
}

// inspect reads every Go file of the module in the tree and returns what is wrong with it.
func inspect(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var complaints []string
	seen := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(tree, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		seen++
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for _, c := range inspectFile(name, text) {
			complaints = append(complaints, name+": "+c)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	if _, isMap := tree.(fstest.MapFS); !isMap && seen < 10 {
		t.Fatalf("%d Go files seen: this is not the project", seen)
	}
	return complaints
}

// skipped reports whether a directory is none of the project's packages.
func skipped(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

func inspectFile(name string, text []byte) []string {
	complaints := inspectWords(text)
	if strings.HasSuffix(name, "_test.go") {
		return complaints
	}
	if lines := bytes.Count(text, []byte("\n")); lines > maxLines {
		complaints = append(complaints, fmt.Sprintf("%d lines are too many for one idea, at most %d", lines, maxLines))
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return append(complaints, err.Error())
	}
	if slices.Contains(vagueNames, file.Name.Name) {
		complaints = append(complaints, fmt.Sprintf("package name %s says nothing of what is inside", file.Name.Name))
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			complaints = append(complaints, "func init works behind the back of whoever imports the package")
		}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return append(complaints, err.Error())
		}
		if c := inspectImport(path.Dir(name), imported); c != "" {
			complaints = append(complaints, c)
		}
	}
	return complaints
}

// inspectWords looks for words that mark work left open, as words of their own.
func inspectWords(text []byte) []string {
	var complaints []string
	for i, line := range strings.Split(string(text), "\n") {
		for _, word := range openWords {
			before, after, found := strings.Cut(line, word)
			if found && !endsInLetter(before) && !beginsWithLetter(after) {
				complaints = append(complaints, fmt.Sprintf("line %d says %q: finish it or write an issue", i+1, word))
			}
		}
	}
	return complaints
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func endsInLetter(s string) bool { return s != "" && isLetter(s[len(s)-1]) }

func beginsWithLetter(s string) bool { return s != "" && isLetter(s[0]) }

// inspectImport says what is wrong with the package from importing the path, or "".
func inspectImport(from, imported string) string {
	if to, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
		for _, e := range edges {
			if covers(e.from, from) && covers(e.to, to) {
				return ""
			}
		}
		return fmt.Sprintf("%s imports %s, which no edge in internal/archtest allows", from, to)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") { // the standard library
		if reason, ok := unwanted[imported]; ok {
			return fmt.Sprintf("%s imports %s: %s", from, imported, reason)
		}
		return ""
	}
	for _, m := range thirds {
		if !covers(m.module+"/...", imported) {
			continue
		}
		for _, leaf := range m.leaves {
			if covers(leaf, from) {
				return ""
			}
		}
		return fmt.Sprintf("%s imports %s, which only %s may: %s", from, imported, strings.Join(m.leaves, ", "), m.reasons)
	}
	return fmt.Sprintf("%s imports the third party %s, which internal/archtest does not list", from, imported)
}

// covers reports whether a pattern of the tables covers a path.
func covers(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	prefix, below := strings.CutSuffix(pattern, "/...")
	return name == prefix || below && strings.HasPrefix(name, prefix+"/")
}
