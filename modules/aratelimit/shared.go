package aratelimit

import (
	"fmt"

	"github.com/vonago/vonago/onion"
)

// checkShared refuses routes that share a bucket but do not agree on what it is:
// windows of different length or other kinds of keys would be counted apart, or
// together in a bucket that is neither (contract A12). Limits may differ.
func checkShared(uses []onion.Resolved[Options]) []error {
	first := map[string]onion.Resolved[Options]{}
	var errs []error
	for _, use := range uses {
		p := use.Options.RateLimit
		if !p.Shared.True() {
			continue
		}
		other, ok := first[p.Name]
		if !ok {
			first[p.Name] = use
			continue
		}
		q := other.Options.RateLimit
		if p.WindowMs != q.WindowMs {
			errs = append(errs, mismatch(other, use, "rateLimit.windowMs", q.WindowMs, p.WindowMs))
		}
		if p.Key != q.Key {
			errs = append(errs, mismatch(other, use, "rateLimit.key", q.Key, p.Key))
		}
	}
	return errs
}

func mismatch(a, b onion.Resolved[Options], option string, ofA, ofB any) error {
	return fmt.Errorf("%s (%s) and %s (%s) share the bucket %q and must have the same %s, not %v and %v",
		a.Route, a.Route.Where, b.Route, b.Route.Where, a.Options.RateLimit.Name, option, ofA, ofB)
}
