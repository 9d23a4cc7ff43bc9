package testapp

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// addressOf asks the application who it takes the client for.
func addressOf(t *testing.T, s *Server, lines ...string) string {
	t.Helper()
	res := s.raw(t, "GET /api/test/vona/probe/address HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+strings.Join(append(lines, ""), "\r\n")+"\r\n")
	var body struct {
		Data string `json:"data"`
	}
	if err := json.Unmarshal([]byte(res.body), &body); err != nil || res.status != http.StatusOK {
		t.Errorf("%q: %d %s", lines, res.status, res.body)
	}
	return body.Data
}

// TestHostileAddresses is contract D4 over the wire: nothing that a client writes into a header makes it another one, unless
// a proxy that is trusted has added to it.
func TestHostileAddresses(t *testing.T) {
	const client, peer = "203.0.113.7", "127.0.0.1"
	const fwd = "X-Forwarded-For: "
	behind := Start(t, Setup{Local: "proxy: {enabled: true, trusted: [127.0.0.0/8, 10.0.0.0/8, 'fd00::/8']}"})
	counting := Start(t, Setup{Redis: behind.Redis, Local: "proxy: {enabled: true, maxProxyCount: 2}"})
	strange := Start(t, Setup{Redis: behind.Redis, Local: "proxy: {enabled: true, trusted: [10.0.0.0/8]}"})
	usual := Start(t, Setup{Redis: behind.Redis})
	for _, c := range []struct {
		s     *Server
		lines []string
		want  string
	}{
		{behind, []string{fwd + client}, client},
		{behind, []string{fwd + client + ":4711"}, client},
		{behind, []string{fwd + "[2001:db8::1]:443"}, "2001:db8::1"},
		{behind, []string{fwd + "[2001:DB8:0:0::1]"}, "2001:db8::1"},
		{behind, []string{fwd + "fe80::1%eth0"}, "fe80::1"},
		{behind, []string{fwd + "[fe80::1%25eth0]:80"}, "fe80::1"},
		{behind, []string{fwd + "::ffff:" + client}, client},
		{behind, []string{fwd + "[::ffff:" + client + "]:80"}, client},
		{behind, []string{fwd + "::FFFF:cb00:7107"}, client},
		{behind, []string{fwd + " \t" + client + " \t"}, client},
		{behind, []string{"x-FORWARDED-for: " + client}, client},
		// What stands to the left of an address nobody vouches for is the client's own invention.
		{behind, []string{fwd + "1.2.3.4, " + client}, client},
		{behind, []string{fwd + "1.2.3.4,5.6.7.8," + client + ",10.0.0.1,10.9.9.9"}, client},
		{behind, []string{fwd + "1.2.3.4", fwd + client}, client},
		{behind, []string{fwd + client, fwd + "10.0.0.1", fwd + "[fd00::1]:1"}, client},
		{behind, []string{fwd + "127.0.0.1"}, "127.0.0.1"},
		// What is no address stops the walk.
		{behind, []string{fwd + client + ", garbage"}, peer},
		{behind, []string{fwd + "garbage, 10.0.0.1"}, "10.0.0.1"},
		{behind, []string{fwd + client + ","}, peer},
		{behind, []string{fwd}, peer},
		{behind, []string{fwd + ",,,,"}, peer},
		{behind, []string{fwd + client, fwd}, peer},
		{behind, []string{fwd + "unknown"}, peer},
		{behind, []string{fwd + "_hidden"}, peer},
		{behind, []string{fwd + "0313.0.0161.7"}, peer},
		{behind, []string{fwd + "3405803783"}, peer},
		{behind, []string{fwd + "203.0.113"}, peer},
		{behind, []string{fwd + "203.0.113.7.9"}, peer},
		{behind, []string{fwd + "999.0.0.1"}, peer},
		{behind, []string{fwd + client + ":99999"}, peer},
		{behind, []string{fwd + client + ":"}, peer},
		{behind, []string{fwd + client + "/24"}, peer},
		{behind, []string{fwd + "[" + client + "]"}, peer},
		{behind, []string{fwd + "[2001:db8::1"}, peer},
		{behind, []string{fwd + "2001:db8::1]"}, peer},
		{behind, []string{fwd + `"203.0.113.7"`}, peer},
		{behind, []string{fwd + "for=203.0.113.7"}, peer},
		{behind, []string{fwd + "203.0.113.\xff7"}, peer},
		{behind, []string{fwd + "٢٠٣.0.113.7"}, peer},
		{behind, []string{fwd + client + " 10.0.0.1"}, peer},
		{behind, []string{fwd + strings.Repeat("1", 5000)}, peer},
		{behind, []string{fwd + client + strings.Repeat(",10.0.0.1", 5000)}, "10.0.0.1"},
		{behind, []string{fwd + strings.Repeat("x,", 5000) + client}, client},
		{behind, slices.Repeat([]string{fwd + "1.2.3.4, 10.0.0.1"}, 500), "1.2.3.4"},
		// Other fields say nothing.
		{behind, []string{"X-Real-IP: 9.9.9.9", "Forwarded: for=9.9.9.9", "CF-Connecting-IP: 9.9.9.9", "True-Client-IP: 9.9.9.9"}, peer},
		// Hops are counted from the right, the peer included.
		{counting, []string{fwd + "1.2.3.4, " + client + ", 198.51.100.1"}, client},
		{counting, []string{fwd + client}, client},
		{counting, []string{fwd + client + ", garbage"}, peer},
		// A peer that is not trusted is the client, whatever it says.
		{strange, []string{fwd + client}, peer},
		{strange, []string{fwd + client + ", 10.0.0.1"}, peer},
		{usual, []string{fwd + client}, peer},
	} {
		if got := addressOf(t, c.s, c.lines...); got != c.want {
			t.Errorf("%.100q: %s, want %s", c.lines, got, c.want)
		}
	}
}

// TestSpoofingBuysNoBudget spends a budget and goes on under every other spelling and with whatever else is invented.
func TestSpoofingBuysNoBudget(t *testing.T) {
	s := Start(t, Setup{Local: "proxy: {enabled: true, trusted: [127.0.0.0/8]}"})
	sameDay(t, func() {
		s.Redis.FlushAll()
		ok := 0
		for i := range 60 {
			spelling := []string{"203.0.113.7", "203.0.113.7:%d", "::ffff:203.0.113.7", "[::ffff:203.0.113.7]:%d", "10.%d.1.1, 203.0.113.7", "x%d,203.0.113.7"}[i%6]
			if strings.Contains(spelling, "%d") {
				spelling = fmt.Sprintf(spelling, i)
			}
			if res, _ := s.Do(t, http.MethodGet, limitedPath, "", "X-Forwarded-For: "+spelling); res.StatusCode == http.StatusOK {
				ok++
			}
		}
		if keys := s.Redis.Keys("*"); ok != 3 || len(keys) != 1 {
			t.Errorf("%d admitted, want 3; keys %v", ok, keys)
		}
		if res, _ := s.Do(t, http.MethodGet, limitedPath, "", "X-Forwarded-For: 203.0.113.8"); res.StatusCode != http.StatusOK {
			t.Errorf("another client: %d", res.StatusCode)
		}
	})
}

// TestIPv6Prefix: whoever has a network has no more budgets than one.
func TestIPv6Prefix(t *testing.T) {
	const local = "proxy: {enabled: true, trusted: [127.0.0.0/8]}\nmodules: {a-ratelimit: {ipv6Prefix: %d}}\n"
	for prefix, want := range map[int]int{64: 3, 48: 3, 128: 20} {
		s := Start(t, Setup{Local: fmt.Sprintf(local, prefix)})
		sameDay(t, func() {
			s.Redis.FlushAll()
			ok := 0
			for i := range 20 {
				if res, _ := s.Do(t, http.MethodGet, limitedPath, "", fmt.Sprintf("X-Forwarded-For: 2001:db8:1:2:%x::%x", i, i)); res.StatusCode == http.StatusOK {
					ok++
				}
			}
			if ok != want {
				t.Errorf("/%d: %d of 20 addresses of a /64 were admitted, want %d", prefix, ok, want)
			}
			// IPv4 addresses count whole, mapped ones too.
			for i := range 20 {
				if res, _ := s.Do(t, http.MethodGet, limitedPath, "", fmt.Sprintf("X-Forwarded-For: ::ffff:203.0.113.%d", i)); res.StatusCode != http.StatusOK {
					t.Errorf("/%d: IPv4 address %d: %d", prefix, i, res.StatusCode)
				}
			}
			if res, _ := s.Do(t, http.MethodGet, limitedPath, "", "X-Forwarded-For: 2001:db8:9::1"); res.StatusCode != http.StatusOK {
				t.Errorf("/%d: another network: %d", prefix, res.StatusCode)
			}
		})
	}
}

// TestHostileInstanceNames: no name but a configured one reaches a route, a counter or anybody's memory.
func TestHostileInstanceNames(t *testing.T) {
	s := Start(t, Setup{})
	names := []string{"a:b", "acme:", ":acme", "acme:limited", "..", "../acme", "acme/", "ACME", "acme ", "acme%00", "acme\x80", "default", "closed",
		"rate-limit:v1:", "*", "[a]", "{acme}", "constructor", "__proto__", "undefined", strings.Repeat("x", 10<<10), strings.Repeat("é:", 3000)}
	for _, name := range names {
		res, body := s.Do(t, http.MethodGet, limitedPath, "", "x-vona-instance-name: "+name)
		if res.StatusCode != http.StatusLocked && strings.TrimSpace(name) != "acme" {
			t.Errorf("%.40q in the header: %d %s", name, res.StatusCode, body)
		}
		res, body = s.Do(t, http.MethodGet, limitedPath+"?x-vona-instance-name="+queryEscape(name), "")
		if res.StatusCode != http.StatusLocked {
			t.Errorf("%.40q in the query: %d %s", name, res.StatusCode, body)
		}
	}
	for _, key := range s.Redis.Keys("*") {
		if !strings.Contains(key, "v1:acme:limited:") { // "acme " is acme: HTTP trims fields
			t.Errorf("a key of a name that is none: %.200s", key)
		}
	}
	for line := range strings.Lines(s.Log.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes in the log: %.200s", len(line), line)
		}
	}
}

func queryEscape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

var names = flag.Int("names", 100_000, "how many names TestUnknownNamesCostNothing sends")

// TestUnknownNamesCostNothing sends names that nobody has; memory stays where it was.
func TestUnknownNamesCostNothing(t *testing.T) {
	s := Start(t, Setup{Local: "logger: {clients: {default: {level: error}}}"})
	handler := s.App.Handler()
	send := func(from, to int) {
		for i := from; i < to; i++ {
			req := httptest.NewRequestWithContext(context.Background(), http.MethodGet, limitedPath, nil)
			if i%2 == 0 {
				req.Header.Set("x-vona-instance-name", fmt.Sprintf("tenant-%d", i))
			} else {
				req.Host = fmt.Sprintf("tenant-%d.example.com", i)
			}
			res := httptest.NewRecorder()
			handler.ServeHTTP(res, req)
			if res.Code != http.StatusLocked {
				t.Fatalf("name %d: %d", i, res.Code)
			}
		}
	}
	send(0, 1000)
	heap, goroutines := heapInUse(), runtime.NumGoroutine()
	send(1000, *names)
	if grown := heapInUse() - heap; grown > 2<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if n := runtime.NumGoroutine(); n > goroutines+5 {
		t.Errorf("%d goroutines, before %d", n, goroutines)
	}
	if keys := s.Redis.Keys("*"); len(keys) != 0 {
		t.Errorf("keys %v", keys)
	}
	if n := len(s.App.Instances()); n > 5 {
		t.Errorf("%d instances are known", n)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSeparatorsInIdentities: identities that look alike when put together have budgets of their own.
func TestSeparatorsInIdentities(t *testing.T) {
	s := Start(t, Setup{})
	ids := []any{"7", "7|subject:7", "|", "a:b", "a", "b", "subject:a", "ip:127.0.0.1", "anonymous ", "", "a\nb", "a\x00b", "ü", "%7C", strings.Repeat("x", 2000), 8, int64(9007199254740993)}
	sameDay(t, func() {
		s.Redis.FlushAll()
		for i, id := range ids {
			bearer := "Authorization: Bearer " + signed(t, id)
			for range 3 {
				if res, body := s.Do(t, http.MethodGet, limitedPath, "", bearer); res.StatusCode != http.StatusOK {
					t.Errorf("%.40q pays for another one: %d %s", id, res.StatusCode, body)
				}
			}
			if res, _ := s.Do(t, http.MethodGet, limitedPath, "", bearer); res.StatusCode != http.StatusTooManyRequests {
				t.Errorf("%.40q has another budget: %d", id, res.StatusCode)
			}
			if keys := s.Redis.Keys("*"); len(keys) != i+1 {
				t.Errorf("%d keys for %d identities", len(keys), i+1)
			}
		}
	})
	for _, key := range s.Redis.Keys("*") {
		if len(key) > 250 || strings.Count(key, ":") != 7 {
			t.Errorf("key %q", key)
		}
	}
}

// signed is a token of a user of that id.
func signed(t *testing.T, id any) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"client": "access", "data": map[string]any{"userId": "1", "authId": id, "token": "opaque"},
		"iat": now.Add(-time.Hour).Unix(), "exp": now.Add(time.Hour).Unix(), "iss": "testapp",
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte("testapp-key-for-tests-only-0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
