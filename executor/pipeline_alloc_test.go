package executor_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/config"
	"github.com/vonago/vonago/executor"
	"github.com/vonago/vonago/instance"
	"github.com/vonago/vonago/modules/acore"
	"github.com/vonago/vonago/modules/aratelimit"
	"github.com/vonago/vonago/modules/aredis"
	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// The application of this test is that of the module bench/, which holds the same
// pipeline against a handler written by hand: its allocations plus 3 are the bar.
type pipeline struct {
	onion.ControllerTag `name:"student" path:"student"`

	View   onion.Action[viewInput, *row]   `get:":id" passport:"public"`
	Create onion.Action[createInput, *row] `post:"" passport:"public"`
}

type row struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Year int    `json:"year"`
}

type viewInput struct {
	ID   int64 `param:"id" validate:"min=1"`
	Year int   `query:"year" validate:"min=0,max=6"`
}

type createInput struct {
	Row struct {
		Name string `json:"name" validate:"required,max=50"`
		Year int    `json:"year" validate:"min=1,max=6"`
	} `body:""`
}

// What the two requests may allocate. Of the first: the exchange, the input, the
// action's answer, the anonymous passport, and two small ones of validator's. The
// second adds what encoding/json and validator make of a body.
const (
	viewAllocations   = 6
	createAllocations = 13
)

func TestPipelineAllocations(t *testing.T) {
	if executor.RaceDetector {
		t.Log("the race detector makes sync.Pool forget: only without it are the numbers exact")
		return
	}
	h := serving(t)
	for _, tt := range []struct {
		name, method, url, body string
		want                    float64
	}{
		{"view", http.MethodGet, "/api/demo/student/12?year=2", "", viewAllocations},
		{"create", http.MethodPost, "/api/demo/student", `{"name":"Grace Hopper","year":2}`, createAllocations},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := bytes.NewReader([]byte(tt.body))
			r := httptest.NewRequest(tt.method, tt.url, http.NoBody)
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = body.Size()
			closer := io.NopCloser(body)
			w := &discard{header: http.Header{}}
			got := testing.AllocsPerRun(500, func() {
				clear(w.header)
				_, _ = body.Seek(0, io.SeekStart)
				r.Body = closer
				h.ServeHTTP(w, r)
			})
			if w.status != http.StatusOK || len(w.header) < 6 {
				t.Fatalf("status %d, header %v", w.status, w.header)
			}
			if got != tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
		})
	}
}

// serving is an application with everything that is on by default: ten onions and
// more.
func serving(t *testing.T) http.Handler {
	t.Helper()
	dir := t.TempDir()
	const text = `
app: {name: alloc}
server: {keys: [a-key-for-this-test-only-0123456789abc]}
jwt: {stateless: true}
logger: {clients: {default: {level: warn}}}
instance: {instances: {"": {}}}
redis: {embedded: true}
`
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Dir: dir, Environ: []string{"META_MODE=test"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pipeline{
		View: func(_ context.Context, in *viewInput) (*row, error) { return &row{in.ID, "Ada", in.Year}, nil },
		Create: func(_ context.Context, in *createInput) (*row, error) {
			return &row{4, in.Row.Name, in.Row.Year}, nil
		},
	}
	a, err := app.New(cfg, []onion.Module{
		acore.Module(), instance.Module(), aredis.Module(), passport.Module(), aratelimit.Module(),
		onion.Basic{ModuleName: "demo-student", ModuleControllers: []onion.Declaration{onion.Tags(p)}},
	}, app.WithLogOutput(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return a.Handler()
}

// discard is a ResponseWriter that can be used again.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
