package bench

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// contestant is one of those that are compared: run does its work n times.
type contestant struct {
	name string
	run  func(n int)
}

// plan says how long the table may take.
type plan struct {
	rounds int
	// cpu and net are the lengths of one slice: of work in process, and of work
	// that waits for a network.
	cpu, net time.Duration
}

var (
	full  = plan{rounds: 9, cpu: 60 * time.Millisecond, net: 400 * time.Millisecond}
	smoke = plan{rounds: 2, cpu: 5 * time.Millisecond, net: 50 * time.Millisecond}
)

// cpuTime is what the process has used so far, its garbage collector included.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err)) // it has no way to fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// cpuCosts gives the CPU nanoseconds per operation of each contestant in each
// round. In a round they run one after another, in an order that moves on from
// round to round, so that what slows the machine down meets all of them.
func cpuCosts(p plan, list []contestant) map[string][]float64 {
	counts := make([]int, len(list))
	for i, c := range list {
		counts[i] = calibrate(p.cpu, c)
	}
	costs := map[string][]float64{}
	for round := range p.rounds {
		for k := range list {
			i := (k + round) % len(list)
			runtime.GC()
			before := cpuTime()
			list[i].run(counts[i])
			costs[list[i].name] = append(costs[list[i].name], float64(cpuTime()-before)/float64(counts[i]))
		}
	}
	return costs
}

// calibrate finds how many operations fill a slice.
func calibrate(slice time.Duration, c contestant) int {
	for n := 64; ; n *= 2 {
		before := time.Now()
		c.run(n)
		if took := time.Since(before); took > slice/4 {
			return max(1, int(float64(n)*float64(slice)/float64(took)))
		}
	}
}

// summary is a figure over all rounds.
type summary struct{ min, median, max float64 }

func summarise(values []float64) summary {
	if len(values) == 0 {
		return summary{math.NaN(), math.NaN(), math.NaN()}
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	median := s[mid]
	if len(s)%2 == 0 {
		median = (s[mid-1] + s[mid]) / 2
	}
	return summary{s[0], median, s[len(s)-1]}
}

// ratios divides round by round.
func ratios(ours, theirs []float64) summary {
	quotients := make([]float64, len(ours))
	for i := range ours {
		quotients[i] = ours[i] / theirs[i]
	}
	return summarise(quotients)
}

// once is a figure that does not vary.
func once(v float64) summary { return summary{v, v, v} }
