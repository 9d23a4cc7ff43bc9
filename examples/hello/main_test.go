package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
)

// noon stands still, so that no window of the limiter ends in the middle.
type noon struct{}

func (noon) Now() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }

// The application answers, and refuses the seventh call of a minute.
func Example() {
	cfg, err := config.Load(config.Options{Dir: "config", Environ: []string{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := app.New(cfg, modules(), app.WithLogOutput(io.Discard), app.WithClock(noon{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := a.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer a.Stop(ctx)
	for range 7 {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/api/demo/hello/greeting/Ada", nil))
		fmt.Println(w.Code, w.Body)
	}
	// Output:
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 200 {"code":0,"message":"Success","data":"Hello, Ada"}
	// 429 {"code":429,"message":"Too Many Requests"}
}
