package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// kind is a kind of request and what may come of it beside what the limiter says.
type kind struct {
	share        int // how often, among all
	method, path string
	body         string
	instance     string
	statuses     []int
	want         string // in the body of a success
	unlimited    bool   // by the identity control: it finds no route, or its action is none
}

const api = "/api/test/vona/"

var kinds = []kind{
	{share: 40, method: "GET", path: api + "probe/hello", statuses: []int{200}, want: `{"code":0,"message":"Success","data":"hello"}`},
	{share: 10, method: "HEAD", path: api + "probe/hello", statuses: []int{200}},
	{share: 10, method: "GET", path: api + "probe/hello", instance: "acme", statuses: []int{200}, want: `"hello"`},
	{share: 10, method: "GET", path: api + "probe/limited", statuses: []int{200}, want: `"within the limit"`},
	{share: 10, method: "POST", path: api + "probe/echo/7", body: `{"name":"Ada","age":3}`, statuses: []int{200}, want: `"name":"Ada"`},
	{share: 5, method: "POST", path: api + "probe/echo/x", body: `{"name":""}`, statuses: []int{422}, want: `"code":422`},
	{share: 5, method: "POST", path: api + "probe/echo/7", body: `{"name`, statuses: []int{400}, want: `"code":400`},
	{share: 5, method: "GET", path: api + "probe/fail", statuses: []int{500}, want: `"code":500`},
	{share: 5, method: "GET", path: api + "shapes/rest/a/b", statuses: []int{200}, want: `=a/b"`},
	{share: 5, method: "GET", path: api + "probe/private", statuses: []int{401}, want: `"code":401`, unlimited: true},
	{share: 5, method: "GET", path: "/nowhere", statuses: []int{404}, want: `"code":404`, unlimited: true},
	{share: 5, method: "GET", path: api + "probe/hello", instance: "nobody", statuses: []int{423}, want: `"code":423`, unlimited: true},
	{share: 3, method: "GET", path: "/static/file.txt", statuses: []int{200}, want: "a static file", unlimited: true},
	{share: 2, method: "GET", path: "/health/live", statuses: []int{200}, want: "ok", unlimited: true},
}

// pick picks a kind by its share.
func pick(random *rand.Rand) kind {
	all := 0
	for _, k := range kinds {
		all += k.share
	}
	n := random.IntN(all)
	for _, k := range kinds {
		if n -= k.share; n < 0 {
			return k
		}
	}
	return kinds[0]
}

// call makes requests until the time is over.
func (s *soak) call(random *rand.Rand) {
	for !s.isOver() {
		k := pick(random)
		impatient := random.IntN(100) == 0
		s.request(k, s.urls[random.IntN(len(s.urls))], random.IntN(40), impatient)
		s.sleep(time.Duration(random.Int64N(int64(4 * time.Millisecond))))
	}
}

// request makes a request and looks at the answer. An impatient caller leaves after two milliseconds.
func (s *soak) request(k kind, url string, client int, impatient bool) {
	ctx := context.Background()
	if impatient {
		var leave context.CancelFunc
		ctx, leave = context.WithTimeout(ctx, 2*time.Millisecond)
		defer leave()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, url+k.path, strings.NewReader(k.body))
	if err != nil {
		s.ledger.fail("%v", err)
		return
	}
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.100.%d, 203.0.113.%d", s.requests.Add(1)%250, client))
	req.Header.Set("Accept", "application/json")
	if k.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.instance != "" {
		req.Header.Set("X-Vona-Instance-Name", k.instance)
	}
	res, err := s.client.Do(req)
	var body []byte
	if err == nil {
		defer res.Body.Close()
		body, err = io.ReadAll(res.Body)
	}
	if err != nil {
		if ctx.Err() != nil {
			s.ledger.mu.Lock()
			s.ledger.left++
			s.ledger.mu.Unlock()
			return
		}
		s.ledger.fail("%s %s: %v", k.method, k.path, err)
		return
	}
	s.ledger.mu.Lock()
	s.ledger.statuses[res.StatusCode]++
	s.ledger.mu.Unlock()
	if err := k.judge(res, string(body)); err != nil {
		s.ledger.fail("%s %s: %v: %d %.200s %v", k.method, k.path, err, res.StatusCode, body, res.Header)
	}
}

// judge looks at an answer.
func (k kind) judge(res *http.Response, body string) error {
	h, want := res.Header, k.want
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		want = `{"code":429,"message":"Too Many Requests"}`
	case http.StatusServiceUnavailable:
		want = `{"code":503,"message":"Service Unavailable"}`
	default:
		if !slices.Contains(k.statuses, res.StatusCode) {
			return fmt.Errorf("want one of %v", k.statuses)
		}
		if h.Get("Retry-After") != "" {
			return fmt.Errorf("Retry-After where nothing was refused")
		}
	}
	refused := res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable
	switch {
	case k.method != http.MethodHead && !strings.Contains(body, want), refused && k.method != http.MethodHead && body != want:
		return fmt.Errorf("want the body %s", want)
	case refused && (h.Get("Retry-After") == "" || h.Get("Cache-Control") != "no-store"):
		return fmt.Errorf("want Retry-After and no-store")
	case res.StatusCode == http.StatusServiceUnavailable && (h.Get("Retry-After") != "1" || h.Get("RateLimit-Limit") != ""):
		return fmt.Errorf("want Retry-After: 1 and no RateLimit fields")
	case k.unlimited && h.Get("RateLimit-Limit") != "":
		return fmt.Errorf("want no RateLimit fields")
	}
	return nil
}
