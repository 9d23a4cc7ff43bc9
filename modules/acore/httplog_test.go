package acore

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

func TestHTTPLog(t *testing.T) {
	for status, level := range map[int]string{200: "INFO", 204: "INFO", 304: "INFO", 404: "WARN", 429: "WARN", 500: "ERROR", 503: "ERROR"} {
		a := newApp(t)
		run := a.system("a-logger:httpLog", nil, written(status))
		c := newCall(http.MethodGet, "/api/demo/student/1")
		c.RawQuery, c.Instance, c.Addr = "auth_token=secret", "acme", netip.MustParseAddr("192.0.2.7")
		c.Route = &onion.RouteInfo{Raw: "/demo/student/:id"}
		if _, err := run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		lines := a.lines()
		if len(lines) != 1 {
			t.Fatalf("%d lines, want 1", len(lines))
		}
		delete(lines[0], "time")
		want := map[string]any{
			"level": level, "msg": "request", "method": "GET", "path": "/api/demo/student/1", "route": "/demo/student/:id",
			"status": float64(status), "bytes": 7.0, "ms": 1.0, "instanceName": "acme",
		}
		if len(lines[0]) != len(want) {
			t.Errorf("line %v, want exactly %v", lines[0], want)
		}
		for key, value := range want {
			if lines[0][key] != value {
				t.Errorf("%d: %s is %v, want %v", status, key, lines[0][key], value)
			}
		}
		if text := a.logs.String(); strings.Contains(text, "secret") || strings.Contains(text, "192.0.2.7") {
			t.Errorf("the line holds the query or the address: %s", text)
		}
	}
}

func TestHTTPLogIPAndNoInstance(t *testing.T) {
	a := newApp(t)
	run := a.system("a-logger:httpLog", map[string]any{"ip": true}, written(401))
	c := newCall(http.MethodGet, "/")
	c.Addr, c.NoInstance = netip.MustParseAddr("192.0.2.7"), true
	if _, err := run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	line := a.lines()[0]
	if line["ip"] != "192.0.2.7" || line["instanceName"] != "null" {
		t.Errorf("line %v", line)
	}
	if _, ok := line["route"]; ok {
		t.Errorf("a request without a route names one: %v", line)
	}
}

func TestHTTPLogAborted(t *testing.T) {
	a := newApp(t)
	run := a.system("a-logger:httpLog", nil, func(context.Context, *onion.Call) (any, error) { panic(http.ErrAbortHandler) })
	func() {
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("recovered %v, want http.ErrAbortHandler passed on", err)
			}
		}()
		_, _ = run(t.Context(), newCall(http.MethodGet, "/"))
	}()
	line := a.lines()[0]
	if line["aborted"] != true || line["level"] != "WARN" {
		t.Errorf("line %v, want aborted at WARN", line)
	}
}
