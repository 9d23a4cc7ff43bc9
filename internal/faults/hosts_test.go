package faults

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vonago/vonago/app"
	"github.com/vonago/vonago/internal/redistest"
	"github.com/vonago/vonago/internal/testapp"
)

var rounds = flag.Int("rounds", 2, "how many rounds TestManyHosts plays on each kind of Redis")

// The environment of a worker: its configuration, and if it has a clock that stands still, what it shows in milliseconds.
const (
	envLocal = "VONAGO_TEST_WORKER"
	envClock = "VONAGO_TEST_WORKER_CLOCK"
)

// TestWorker is no test but a process of TestManyHosts: it serves until its input ends.
func TestWorker(t *testing.T) {
	local, isWorker := os.LookupEnv(envLocal)
	if !isWorker {
		return
	}
	options := []app.Option{app.WithoutWatch(), app.WithLogOutput(io.Discard)}
	if text := os.Getenv(envClock); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, app.WithClock(standing(time.UnixMilli(ms))))
	}
	a, _ := testapp.Build(t, testapp.Setup{Local: local, Options: options})
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- a.ServeOn(ctx, l, func(addr string) { fmt.Printf("\n%s%s\n", ready, l.Addr()) })
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
}

const ready = "worker serves on "

// host is a process with an application of its own.
type host struct {
	url    string
	client *http.Client
}

// startHosts starts so many processes.
func startHosts(t *testing.T, n int, env ...string) []host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []host
	for range n {
		cmd := exec.CommandContext(context.Background(), self, "-test.run=^TestWorker$", "-test.timeout=10m")
		cmd.Env = append(os.Environ(), env...)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		text := &strings.Builder{}
		lines := bufio.NewScanner(out)
		addr := ""
		for addr == "" && lines.Scan() {
			fmt.Fprintln(text, lines.Text())
			addr, _ = strings.CutPrefix(lines.Text(), ready)
			if addr == lines.Text() {
				addr = ""
			}
		}
		client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}, Timeout: time.Minute}
		t.Cleanup(func() {
			client.CloseIdleConnections()
			_ = in.Close()
			for lines.Scan() {
				fmt.Fprintln(text, lines.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("a worker ended with %v:\n%s", err, text)
			}
		})
		if addr == "" {
			t.Fatalf("a worker does not serve:\n%s", text)
		}
		hosts = append(hosts, host{url: "http://" + addr, client: client})
	}
	return hosts
}

// storm makes attempts at all hosts, all at once, and gives how many were answered with each status.
func storm(t *testing.T, hosts []host, attempts int, path string) map[int]int {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[int]int{}
	gate := make(chan struct{})
	for i := range attempts {
		all.Go(func() {
			<-gate
			h := hosts[i%len(hosts)]
			res, err := h.client.Get(h.url + path)
			if err != nil {
				t.Errorf("an attempt failed: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			seen[res.StatusCode]++
		})
	}
	close(gate)
	all.Wait()
	return seen
}

// place is where the processes of a test count together.
type place struct {
	config string // of the limiter's client
	flush  func()
	values func(t *testing.T) []string // of all counters
}

func valuesOf(t *testing.T, keys []string, at func(key string) *redistest.Server) []string {
	t.Helper()
	var all []string
	for _, key := range keys {
		all = append(all, fmt.Sprint(at(key).Do("GET", key)))
	}
	return all
}

func places() map[string]func(t *testing.T) place {
	return map[string]func(t *testing.T) place{
		"one server": func(t *testing.T) place {
			s := redistest.Start(t)
			return place{
				config: fmt.Sprintf("host: 127.0.0.1, port: %d", s.Port()), flush: s.FlushAll,
				values: func(t *testing.T) []string {
					return valuesOf(t, s.Keys("*"), func(string) *redistest.Server { return s })
				},
			}
		},
		"cluster of three masters": func(t *testing.T) place {
			c := redistest.StartCluster(t, 3, 0)
			return place{
				config: "nodes: [" + strings.Join(c.Addrs(), ", ") + "]", flush: c.FlushAll,
				values: func(t *testing.T) []string { return valuesOf(t, c.Keys("*"), c.Owner) },
			}
		},
	}
}

// TestManyHosts lets 2,000 callers at once at one budget, at four processes that have nothing in common but their Redis:
// exactly as many are admitted as the limit says, and every attempt is counted.
func TestManyHosts(t *testing.T) {
	const processes, attempts, limit = 4, 2000, 700
	paths := []string{"hello", "nothing", "list", "map", "address"} // keys of several slots
	for name, start := range places() {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			// The test is about counts. 2,000 callers keep a few processors busy for longer than the limiter's usual patience.
			hosts := startHosts(t, processes, envLocal+"="+fmt.Sprintf(`%s
onions: {interceptor: {a-ratelimit:rateLimit: {enable: true, rateLimit: {mode: enforce, limit: %d, windowMs: 86400000}}}}
`, hostsConfig(p.config), limit))
			for round := range *rounds {
				var seen map[int]int
				sameWindow(func() {
					p.flush()
					seen = storm(t, hosts, attempts, "/api/test/vona/probe/"+paths[round%len(paths)])
				})
				values := p.values(t)
				if seen[http.StatusOK] != limit || seen[http.StatusTooManyRequests] != attempts-limit || len(values) != 1 || values[0] != fmt.Sprint(attempts) {
					t.Fatalf("round %d: answers %v, counters %v; want %d admitted of %d", round+1, seen, values, limit, attempts)
				}
				t.Logf("round %d: %d of %d admitted", round+1, seen[http.StatusOK], attempts)
			}
		})
	}
}

// hostsConfig is a configuration of the limiter's client for tests about counts: neither Redis nor a client loses a connection
// because thousands of attempts keep the machine from it for some seconds.
func hostsConfig(limiter string) string {
	return fmt.Sprintf(`server: {readHeaderTimeoutMs: 120000, idleTimeoutMs: 120000}
redis: {clients: {limiter: {%s, timeoutMs: 30000, dialTimeoutMs: 30000}}}`, limiter)
}

// sameWindow plays a round again if the day changed while it was played.
func sameWindow(round func()) {
	const day = 24 * time.Hour
	for {
		before := time.Now().Truncate(day)
		round()
		if time.Now().Truncate(day).Equal(before) {
			return
		}
	}
}

// TestManyHostsAggregate is the same for the limit of the whole application, whose window is a second: the processes' clocks
// stand, and a round that took longer than the counter lives is played again.
func TestManyHostsAggregate(t *testing.T) {
	const processes, attempts, limit = 4, 200, 70
	for name, start := range places() {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			hosts := startHosts(t, processes, envClock+"="+fmt.Sprint(time.Now().UnixMilli()), envLocal+"="+fmt.Sprintf(`%s
onions: {middlewareSystem: {a-ratelimit:aggregate: {enable: true, rateLimit: {mode: enforce, limit: %d}}}}
`, hostsConfig(p.config), limit))
			for played, tried := 0, 0; played < *rounds; tried++ {
				if tried == 50**rounds {
					t.Fatal("this machine does not get a round done within a second")
				}
				p.flush()
				began := time.Now()
				seen := storm(t, hosts, attempts, "/api/test/vona/probe/hello")
				if time.Since(began) > time.Second {
					continue
				}
				played++
				if seen[http.StatusOK] != limit || seen[http.StatusTooManyRequests] != attempts-limit {
					t.Fatalf("answers %v, want %d admitted of %d", seen, limit, attempts)
				}
			}
		})
	}
}
