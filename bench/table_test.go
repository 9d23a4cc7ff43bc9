package bench

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/vonago/vonago/internal/redistest"
)

var (
	table  = flag.Bool("table", false, "measure, print the table and write RESULTS.md")
	short  = flag.Bool("smoke", false, "with -table: a few short rounds, which prove that it runs; RESULTS.md stays")
	rounds = flag.Int("rounds", full.rounds, "with -table: the number of rounds")
)

// TestTable is `make bench`. It fails where a bar is missed; a smoke run only where
// an exact one is.
func TestTable(t *testing.T) {
	if !*table {
		t.Log("nothing is measured without -table")
		return
	}
	p := full
	p.rounds = *rounds
	if *short {
		p = smoke
	}
	redis := redistest.Start(t)
	r := &report{}
	allocations(t, r)
	pipeline(t, p, r)
	routes(t, p, r)
	decisions(t, p, r, redis)
	sites(t, p, r, redis)
	_, version, _ := strings.Cut(redis.Client().Info(t.Context(), "server").Val(), "redis_version:")
	version, _, _ = strings.Cut(version, "\r")
	r.notes = append(r.notes, machine(version))
	text := fmt.Sprintf("# Results of `make bench`\n\nPaired, interleaved rounds in one process: %d. Ratios are taken round by round. "+
		"How it is measured, and what the rows mean, stands in [docs/performance.md](../docs/performance.md).\n\n%s", p.rounds, r)
	_, _ = os.Stdout.WriteString("\n" + text + "\n")
	if !*short {
		if err := os.WriteFile("RESULTS.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range r.missed(*short) {
		t.Errorf("missed: %s against %s: %s, bar %s", one.what, one.against, number(one.figure.median), one.bar.text(one.bar.need))
	}
}

// allocated counts the allocations of one operation exactly. What is made on first
// use, such as the chains of a route, has been made by then.
func allocated(c contestant) float64 {
	c.run(2000)
	return testing.AllocsPerRun(1000, func() { c.run(1) })
}

func allocations(t *testing.T, r *report) {
	list := endpoints(100)
	steps := allocated(ownRoutes(t, "", list, 10)) - allocated(ownRoutes(t, "", list, 0))
	r.add(row{"allocations of a chain of 10 no-op steps", "none", once(steps), atMost(0, 0), true})
	own := vonago(t)
	for _, job := range []struct {
		name string
		call func(http.Handler) *call
	}{{"GET", viewCall}, {"POST", createCall}} {
		ours, hand := allocated(serving("", job.call(own))), allocated(serving("", job.call(yardstick())))
		careful := allocated(serving("", job.call(tuned())))
		r.add(
			row{"allocations of a " + job.name + ", more than", "net/http by hand", once(ours - hand), atMost(3, 0), true},
			row{"allocations of a " + job.name + ", more than", "net/http by hand, tuned", once(ours - careful), nil, true},
		)
	}
}

func serving(name string, c *call) contestant {
	return contestant{name, func(n int) {
		for range n {
			c.serve()
		}
	}}
}

// pipeline is whole requests in process, without sockets.
func pipeline(t *testing.T, p plan, r *report) {
	named := handlers(t)
	note := section{title: "A request in process", columns: []string{"handler", "GET, CPU ns", "allocations", "POST, CPU ns", "allocations"}}
	lines := map[string][]string{}
	for _, job := range []struct {
		name string
		call func(http.Handler) *call
	}{{"GET", viewCall}, {"POST", createCall}} {
		var list []contestant
		for _, name := range order {
			list = append(list, serving(name, job.call(named[name])))
		}
		costs := cpuCosts(p, list)
		for _, c := range list {
			lines[c.name] = append(lines[c.name], number(summarise(costs[c.name]).median), number(allocated(c)))
		}
		what := job.name + " in process, CPU"
		r.add(
			row{what, "gin", ratios(costs["vonago"], costs["gin"]), atMost(1.3, 0.8), false},
			row{what, "huma", ratios(costs["vonago"], costs["huma"]), atMost(0.5, 0.25), false},
		)
		for _, name := range []string{"net/http", "net/http tuned", "chi", "echo"} {
			r.add(row{what, name, ratios(costs["vonago"], costs[name]), nil, false})
		}
	}
	for _, name := range order {
		note.lines = append(note.lines, append([]string{name}, lines[name]...))
	}
	r.notes = append(r.notes, note)
}

var order = []string{"vonago", "net/http", "net/http tuned", "chi", "gin", "echo", "huma"}

// routes is the router and the chain alone.
func routes(t *testing.T, p plan, r *report) {
	sizes := []int{10, 100, 1000}
	var list []contestant
	for _, n := range sizes {
		table := endpoints(n)
		list = append(list, ownRoutes(t, fmt.Sprint("own ", n), table, 0), muxRoutes(fmt.Sprint("mux ", n), table, 0), chiRoutes(fmt.Sprint("chi ", n), table))
	}
	table := endpoints(100)
	list = append(list, ownRoutes(t, "own steps", table, 10), muxRoutes("mux steps", table, 10),
		ownAsked(t, "own 10 of 1000", endpoints(1000), endpoints(10), 0))
	costs := cpuCosts(p, list)
	r.add(
		row{"router and chain, 0 steps, CPU", "ServeMux", ratios(costs["own 100"], costs["mux 100"]), atMost(0.75, 0.45), false},
		row{"router and chain, 10 steps, CPU", "ServeMux, 10 wrappers", ratios(costs["own steps"], costs["mux steps"]), atMost(0.75, 0.45), false},
		row{"the same 10 routes among 1000, CPU", "among 10", ratios(costs["own 10 of 1000"], costs["own 10"]), atMost(1.3, 1), false},
		row{"all of 1000 routes in turn, CPU", "all of 10", ratios(costs["own 1000"], costs["own 10"]), nil, false},
		row{"all of 1000 routes in turn, CPU", "ServeMux", ratios(costs["own 1000"], costs["mux 1000"]), nil, false},
		row{"all of 1000 routes in turn, CPU", "chi", ratios(costs["own 1000"], costs["chi 1000"]), nil, false},
	)
	note := section{title: "Routing", columns: []string{"router", "10 routes, CPU ns", "100", "1000", "100 and 10 steps"}}
	for _, name := range []string{"own", "mux", "chi"} {
		line := []string{map[string]string{"own": "vonago", "mux": "net/http ServeMux", "chi": "chi"}[name]}
		for _, n := range sizes {
			line = append(line, number(summarise(costs[fmt.Sprint(name, " ", n)]).median))
		}
		note.lines = append(note.lines, append(line, number(summarise(costs[name+" steps"]).median)))
	}
	r.notes = append(r.notes, note)
}

// contender is one way to count attempts.
type contender struct {
	name   string
	decide decider
}

// match is the figures of several contenders with the same crowd, by name.
type match map[string][]outcome

func (m match) of(name string, figure func(outcome) float64) []float64 {
	values := make([]float64, len(m[name]))
	for i, o := range m[name] {
		values[i] = figure(o)
	}
	return values
}

func (m match) ratio(ours, theirs string, figure func(outcome) float64) summary {
	return ratios(m.of(ours, figure), m.of(theirs, figure))
}

func play(t *testing.T, p plan, c *crowd, list []contender) match {
	t.Helper()
	m := match{}
	for _, one := range list {
		c.run(t, p.net/4, one.decide) // connections, scripts
	}
	for round := range p.rounds {
		for k := range list {
			one := list[(k+round)%len(list)]
			m[one.name] = append(m[one.name], c.run(t, p.net, one.decide))
		}
	}
	return m
}

// decisions is the way to Redis and back.
func decisions(t *testing.T, p plan, r *report, redis *redistest.Server) {
	own, addr := counters(t, redis.Addr()), redis.Addr()
	plain := contender{"plain EVALSHA", plainDecider(t, addr)}
	each := []contender{
		{"vonago", ownDecider(own.Each)}, plain, {"AutoPipeline", autoDecider(t, addr)}, {"rueidis", rueidisDecider(t, addr)},
		{"redis_rate", redisRateDecider(t, addr)}, {"ulule/limiter", ululeDecider(t, addr)},
	}
	hot := []contender{{"vonago", ownDecider(own.Joint)}, plain}
	rate := func(o outcome) float64 { return o.perSecond }

	single := play(t, p, newCrowd(1, false, redis), each)
	some := play(t, p, newCrowd(64, false, redis), each)
	many := play(t, p, newCrowd(256, false, redis), each)
	hotSome := play(t, p, newCrowd(64, true, redis), hot)
	hotMany := play(t, p, newCrowd(256, true, redis), hot)

	r.add(
		row{"decisions/s at 64 waiters", "plain EVALSHA", some.ratio("vonago", "plain EVALSHA", rate), atLeast(2.5, 4), false},
		row{"decisions/s at 64 waiters", "AutoPipeline", some.ratio("vonago", "AutoPipeline", rate), atLeast(1.1, 1.6), false},
		row{"decisions/s at 64 waiters", "rueidis", some.ratio("vonago", "rueidis", rate), atLeast(0.95, 1.5), false},
		row{"decisions/s at 64 waiters", "redis_rate", some.ratio("vonago", "redis_rate", rate), nil, false},
		row{"decisions/s at 64 waiters", "ulule/limiter", some.ratio("vonago", "ulule/limiter", rate), nil, false},
		row{"decisions/s at 256 waiters", "plain EVALSHA", many.ratio("vonago", "plain EVALSHA", rate), atLeast(3.5, 5), false},
		row{"hot key, decisions/s at 64 waiters", "plain EVALSHA", hotSome.ratio("vonago", "plain EVALSHA", rate), atLeast(5, 8), false},
		row{"hot key, decisions/s at 256 waiters", "plain EVALSHA", hotMany.ratio("vonago", "plain EVALSHA", rate), atLeast(15, 30), false},
	)
	trips := func(o outcome) float64 { return o.trips }
	for _, one := range []struct {
		waiters    int
		m          match
		need, wish float64
	}{{1, single, 1.01, 1.01}, {64, some, 0.05, 0.025}, {256, many, 0.02, 0.01}} {
		r.add(row{"round trips per decision", fmt.Sprint(one.waiters, " waiters"), summarise(one.m.of("vonago", trips)), atMost(one.need, one.wish), !*short})
	}
	r.add(
		row{"p99 of a decision at 64 waiters", "plain EVALSHA", some.ratio("vonago", "plain EVALSHA", func(o outcome) float64 { return o.p99 }), atMost(0.5, 0.2), false},
		row{"one waiter, median latency", "plain EVALSHA", single.ratio("vonago", "plain EVALSHA", func(o outcome) float64 { return o.p50 }), atMost(1.1, 1), false},
	)
	note := section{title: "Decisions", columns: []string{
		"waiters", "limiter", "decisions/s", "p50 us", "p99 us", "round trips", "Redis commands", "allocations", "CPU us",
	}}
	for _, one := range []struct {
		name string
		m    match
		list []contender
	}{{"1", single, each}, {"64", some, each}, {"256", many, each}, {"64, one key", hotSome, hot}, {"256, one key", hotMany, hot}} {
		for _, c := range one.list {
			line := []string{one.name, c.name}
			for _, figure := range []func(outcome) float64{
				rate, func(o outcome) float64 { return o.p50 }, func(o outcome) float64 { return o.p99 }, trips,
				func(o outcome) float64 { return o.commands }, func(o outcome) float64 { return o.allocations },
				func(o outcome) float64 { return o.clientCPU },
			} {
				line = append(line, number(summarise(one.m.of(c.name, figure)).median))
			}
			note.lines = append(note.lines, line)
		}
	}
	r.notes = append(r.notes, note)
}

// sites is whole requests over loopback connections.
func sites(t *testing.T, p plan, r *report, redis *redistest.Server) {
	addr := redis.Addr()
	redisChi := limitedChi(&rateCounter{client: goRedis(t, addr)})
	list := []*site{
		serve(t, "vonago, identity limiter", limitedVonago(t, addr)),
		serve(t, "vonago, both limiters", fullyLimitedVonago(t, addr)),
		serve(t, "net/http, EVALSHA", limitedYardstick(t, addr)),
		serve(t, "gin, ulule/limiter on Redis", limitedGin(t, addr)),
		serve(t, "chi, httprate in memory", limitedChi(nil)),
		serve(t, "chi, httprate on Redis (counter of this bench)", redisChi),
		serve(t, "vonago", vonago(t)),
		serve(t, "net/http", yardstick()),
		serve(t, "chi", chiJob()),
		serve(t, "gin", ginJob()),
		serve(t, "echo", echoJob()),
		serve(t, "huma", humaJob()),
		serveFiber(t, "fiber", fiberJob()),
	}
	speeds := map[string][]float64{}
	for _, s := range list {
		s.run(t, p.net/4)
	}
	for round := range p.rounds {
		for k := range list {
			s := list[(k+round)%len(list)]
			speeds[s.name] = append(speeds[s.name], s.run(t, p.net))
		}
	}
	limited := speeds["vonago, identity limiter"]
	what := "requests/s over HTTP with the identity limiter"
	r.add(
		row{what, "gin, ulule/limiter on Redis", ratios(limited, speeds["gin, ulule/limiter on Redis"]), atLeast(1.6, 2.1), false},
		row{what, "net/http, EVALSHA", ratios(limited, speeds["net/http, EVALSHA"]), atLeast(1.5, 2), false},
		row{what, "chi, httprate in memory", ratios(limited, speeds["chi, httprate in memory"]), nil, false},
		row{what, "chi, httprate on Redis (counter of this bench)", ratios(limited, speeds["chi, httprate on Redis (counter of this bench)"]), nil, false},
		row{"requests/s limited", "unlimited", ratios(limited, speeds["vonago"]), atLeast(0.45, 0.7), false},
		row{"requests/s with both limiters", "unlimited", ratios(speeds["vonago, both limiters"], speeds["vonago"]), nil, false},
	)
	note := section{title: "Requests over HTTP, 64 connections", columns: []string{"server", "min requests/s", "median", "max"}}
	for _, s := range list {
		sum := summarise(speeds[s.name])
		note.lines = append(note.lines, []string{s.name, number(sum.min), number(sum.median), number(sum.max)})
	}
	r.notes = append(r.notes, note)
}
