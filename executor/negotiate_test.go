package executor

import (
	"net/http"
	"testing"
)

// TestWantsJSON is contract C4, and Vona's rule beside it.
func TestWantsJSON(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
	tests := []struct {
		name, path, accept, contentType string
		want, compat                    bool
	}{
		{"no Accept", "/a", "", "", true, false},
		{"anything", "/a", "*/*", "", true, false},
		{"a browser", "/a", browser, "", false, false},
		{"a browser, .json", "/a.json", browser, "", true, true},
		{"a browser sends JSON", "/a", browser, "application/json; charset=utf-8", true, false},
		{"a browser sends a JSON type", "/a", browser, "application/merge-patch+json", true, false},
		{"a browser sends a form", "/a", browser, "application/x-www-form-urlencoded", false, false},
		{"JSON", "/a", "application/json", "", true, true},
		{"JSON, in another case", "/a", "Application/JSON", "", true, true},
		{"axios", "/a", "application/json, text/plain, */*", "", true, true},
		{"HTML", "/a", "text/html", "", false, false},
		{"HTML or anything", "/a", "text/html, */*", "", false, false},
		{"anything or HTML", "/a", "*/*, text/html", "", false, false},
		{"JSON first", "/a", "application/json, text/html", "", true, true},
		{"HTML first", "/a", "text/html, application/json", "", false, false},
		{"HTML less", "/a", "text/html;q=0.4, application/json;q=0.5", "", true, true},
		{"JSON less", "/a", "application/json;q=0.4, text/html;q=0.5", "", false, false},
		{"JSON less than anything", "/a", "application/json;q=0.4, */*;q=0.5", "", false, false},
		{"HTML less than anything", "/a", "text/html;q=0.4, */*;q=0.5", "", true, false}, // for Vona that is plain text
		{"no HTML", "/a", "text/html;q=0, */*", "", true, false},
		{"no JSON", "/a", "application/json;q=0, */*", "", false, false},
		{"any text", "/a", "text/*", "", false, false},
		{"any application", "/a", "application/*", "", true, true},
		{"neither", "/a", "image/png", "", true, false},
		{"malformed quality", "/a", "text/html;q=much, application/json;q=0.1", "", true, true},
		{"quality above 1", "/a", "text/html;q=7", "", true, false},
		{"parameter before quality", "/a", "text/html;level=1;q=0.1, application/json", "", true, true},
		{"garbage", "/a", ";;,,=/q", "", true, false},
	}
	for _, tt := range tests {
		h := http.Header{}
		if tt.accept != "" {
			h.Set("Accept", tt.accept)
		}
		if tt.contentType != "" {
			h.Set("Content-Type", tt.contentType)
		}
		if got := wantsJSON(tt.path, h, false); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if got := wantsJSON(tt.path, h, true); got != tt.compat {
			t.Errorf("%s: compat: got %v", tt.name, got)
		}
	}
	lines := http.Header{"Accept": {"image/png", "text/html"}}
	if wantsJSON("/a", lines, false) {
		t.Error("a second Accept line is not read")
	}
}

func TestLocale(t *testing.T) {
	for accept, want := range map[string]string{
		"": "", "en-US,en;q=0.9": "en-US", "de;q=0.5, en": "de", " zh-Hans ": "zh-Hans", "*": "", "a b": "", "x\r\ny": "",
		"abcdefghijklmnopqrstuvwxyzabcdefghijklmnop": "",
	} {
		if got := localeOf(http.Header{"Accept-Language": {accept}}); got != want {
			t.Errorf("%q: got %q, want %q", accept, got, want)
		}
	}
}
