package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
)

// handlers are all that do the job on net/http.
func handlers(tb testing.TB) map[string]http.Handler {
	tb.Helper()
	return map[string]http.Handler{
		"net/http": yardstick(), "net/http tuned": tuned(), "vonago": vonago(tb),
		"chi": chiJob(), "gin": ginJob(), "echo": echoJob(), "huma": humaJob(),
	}
}

// TestSameJob sees to it that what is compared can be compared.
func TestSameJob(t *testing.T) {
	for name, h := range handlers(t) {
		t.Run(name, func(t *testing.T) {
			checkJob(t, func(r *http.Request) *http.Response {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Result()
			})
		})
	}
	t.Run("fiber", func(t *testing.T) {
		app := fiberJob()
		checkJob(t, func(r *http.Request) *http.Response {
			response, err := app.Test(r, fiber.TestConfig{})
			if err != nil {
				t.Fatal(err)
			}
			return response
		})
	})
}

func checkJob(t *testing.T, do func(*http.Request) *http.Response) {
	t.Helper()
	post := func(body string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, urlCreate, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		return r
	}
	for _, tt := range []struct {
		request *http.Request
		want    string
	}{
		{httptest.NewRequest(http.MethodGet, urlView, nil), answerView},
		{post(bodyCreate), answerCreate},
	} {
		response := do(tt.request)
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(string(body), "\n"); response.StatusCode != http.StatusOK || got != tt.want {
			t.Errorf("%s %s: %d %s, want %s", tt.request.Method, tt.request.URL, response.StatusCode, got, tt.want)
		}
		if got := strings.ToLower(response.Header.Get("Content-Type")); !strings.HasPrefix(typeJSON, got) || got == "" {
			t.Errorf("%s: content type %q", tt.request.Method, got)
		}
		for _, field := range fixedHeader {
			if got := response.Header.Get(field[0]); got != field[1] {
				t.Errorf("%s: %s is %q, want %q", tt.request.Method, field[0], got, field[1])
			}
		}
	}
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, pathStudent+"/0?year=2", nil),
		httptest.NewRequest(http.MethodGet, pathStudent+"/12?year=7", nil),
		post(`{"name":"","year":2}`),
		post(`{"name":"Grace Hopper","year":0}`),
	} {
		if got := do(r).StatusCode; got != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d, want 422", r.Method, r.URL, got)
		}
	}
}
