// Package docs_test holds the code of the guides as examples, so that what they
// show compiles and answers as they say.
package docs_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// try builds an application of the usual modules and the one given, sends it
// requests such as "GET /api/demo/guide/x", and prints the answers. A request may
// go on with header fields and a body: "POST /x | Accept: text/html | {}". Of the
// answer's header the fields in show are printed.
func try(m onion.Module, show []string, requests ...string) {
	a, err := build(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := a.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := a.Stop(ctx); err != nil {
			fmt.Println(err)
		}
	}()
	for _, text := range requests {
		parts := strings.Split(text, " | ")
		method, target, _ := strings.Cut(parts[0], " ")
		var body io.Reader
		header := map[string]string{}
		for _, part := range parts[1:] {
			if name, value, ok := strings.Cut(part, ": "); ok && !strings.HasPrefix(part, "{") {
				header[name] = value
			} else {
				body, header["Content-Type"] = strings.NewReader(part), "application/json"
			}
		}
		r := httptest.NewRequest(method, target, body)
		for name, value := range header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, r)
		fmt.Println(strings.TrimSpace(fmt.Sprintln(w.Code, w.Body)))
		for _, name := range show {
			for key, values := range w.Header() {
				if strings.EqualFold(key, name) {
					fmt.Printf("    %s: %s\n", name, strings.Join(values, ", "))
				}
			}
		}
	}
}

func build(m onion.Module) (*app.App, error) {
	cfg, err := config.Load(config.Options{Dir: "testdata/config", Environ: []string{}})
	if err != nil {
		return nil, err
	}
	return app.New(cfg, []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), passport.Module(), aratelimit.Module(), m,
	}, app.WithLogOutput(io.Discard))
}
