package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// quoting are the documents whose Go code is quoted from code that is compiled.
var quoting = []string{"README.md", "docs/architecture.md", "docs/controller-aop-guide.md", "docs/passport-guide.md"}

// fence finds blocks of code: their language and text.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

// TestCodeIsQuoted looks up every block of Go in the sources: line by line, but
// for indentation and the alignment that gofmt makes.
func TestCodeIsQuoted(t *testing.T) {
	root := os.DirFS("..")
	var sources strings.Builder
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		sources.WriteString("\n" + plain(string(text)) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range quoting {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		blocks := 0
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "go" {
				continue
			}
			blocks++
			if !strings.Contains(sources.String(), "\n"+plain(m[2])+"\n") {
				t.Errorf("%s quotes code that stands nowhere:\n%s", name, m[2])
			}
		}
		if blocks == 0 {
			t.Errorf("%s quotes nothing", name)
		}
	}
}

// plain is text with one blank for each run of them, and no empty lines.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// link finds links of documents to files of the project.
var link = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)

// TestLinksLead follows every relative link of every document.
func TestLinksLead(t *testing.T) {
	root := os.DirFS("..")
	documents, err := fs.Glob(root, "docs/*.md")
	if err != nil || len(documents) < 5 {
		t.Fatalf("documents %v: %v", documents, err)
	}
	for _, name := range append(documents, "README.md") {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
			if _, err := fs.Stat(root, path.Join(path.Dir(name), strings.TrimSuffix(m[1], "/"))); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}
