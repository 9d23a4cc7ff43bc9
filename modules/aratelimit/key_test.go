package aratelimit

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// looseText is a JSON text or number, as text.
type looseText string

func (l *looseText) UnmarshalJSON(data []byte) error {
	*l = looseText(strings.Trim(string(data), `"`))
	return nil
}

type keyCase struct {
	Name         string
	InstanceName string
	Bean         string `json:"controllerBeanFullName"`
	Action       looseText
	Method       string `json:"routeMethod"`
	Raw          string `json:"routePathRaw"`
	IP           string
	User         passport.User
	Auth         passport.Auth
	Policy       struct {
		WindowMs int64
		Key      KeyKind
		Name     string
	}
	Now           int64
	Key, Identity string
}

// Contract A5 and A6, against keys recorded from Vona.
func TestKeyVectors(t *testing.T) {
	for _, tc := range readVectors[keyCase](t, "ratekey.json") {
		t.Run(tc.Name, func(t *testing.T) {
			c := &onion.Call{Instance: tc.InstanceName}
			if tc.IP != "" {
				c.Addr = netip.MustParseAddr(tc.IP)
			}
			passport.Set(c, &passport.Passport{User: tc.User, Auth: tc.Auth})
			r := &onion.RouteInfo{Bean: tc.Bean, Action: string(tc.Action), Method: strings.ToUpper(tc.Method), Raw: tc.Raw}
			p := Policy{WindowMs: tc.Policy.WindowMs, Key: tc.Policy.Key, Name: tc.Policy.Name}

			if got := string(appendIdentity(nil, c, p.Key)); got != tc.Identity {
				t.Errorf("identity %q, want %q", got, tc.Identity)
			}
			start := windowAt(tc.Now, p.WindowMs).start
			if got := slotsOf("", p, r).key(c, start); got != tc.Key {
				t.Errorf("key\n got %s\nwant %s", got, tc.Key)
			}
		})
	}
}

func TestKeyOfSharedBucket(t *testing.T) {
	p := Policy{Name: "mail out", Shared: onion.On, Key: KeySubject}
	key := slotsOf("pre:", p, testRoute).key(&onion.Call{}, 60_000)
	const want = "pre:rate-limit:v1::mail%20out:*:zkfiGhE4fw6Pmn60ibGi5S6D0gJMhjMOt11w-SY7K7g:60000"
	if key != want {
		t.Fatalf("key\n got %s\nwant %s", key, want)
	}
}

func TestKeyWithoutInstance(t *testing.T) {
	key := slotsOf("", Policy{}, testRoute).key(&onion.Call{NoInstance: true, Instance: "x"}, 0)
	if !strings.HasPrefix(key, "rate-limit:v1:null:") {
		t.Fatal(key)
	}
}

func TestAggregateKey(t *testing.T) {
	if got := aggregateKey("limiter_app:", 1796072074000); got != "limiter_app:rate-limit:v1:aggregate:1796072074000" {
		t.Fatal(got)
	}
}

// A key never splits differently than it was put together.
func TestEscapedSlots(t *testing.T) {
	for _, s := range []string{"", "a:b", "%3A", "ü/\x00\n", "\xff", "a b+c", "~!*'()-_."} {
		escaped := string(appendEscaped(nil, s))
		if strings.ContainsAny(escaped, ":/ +\x00\n") {
			t.Errorf("%q is escaped as %q", s, escaped)
		}
		if back, err := url.PathUnescape(escaped); err != nil || back != s {
			t.Errorf("%q is escaped as %q, which reads %q (%v)", s, escaped, back, err)
		}
	}
}

// Keys longer than the room on the stack are whole too.
func TestLongKey(t *testing.T) {
	name := strings.Repeat("ü", 10_000)
	key := slotsOf("", Policy{Name: name}, testRoute).key(&onion.Call{Instance: name}, 1)
	if n := strings.Count(key, "%C3%BC"); n != 20_000 {
		t.Fatalf("%d of 20000 letters", n)
	}
}

func TestWindow(t *testing.T) {
	for _, tc := range []struct {
		now, length, start, seconds int64
	}{
		{0, 1000, 0, 1},
		{999, 1000, 0, 1},
		{1000, 1000, 1000, 1},
		{60_000, 60_000, 60_000, 60},
		{60_001, 60_000, 60_000, 60},
		{61_000, 60_000, 60_000, 59},
		{118_999, 60_000, 60_000, 2},
		{119_000, 60_000, 60_000, 1},
		{119_999, 60_000, 60_000, 1},
		{1_796_072_074_190, 86_400_000, 1_795_996_800_000, 11126},
		{1500, 1500, 1500, 2}, // a window and a half second: rounded up
		{-1, 1000, -1000, 1},  // a clock that is wrong by decades
	} {
		w := windowAt(tc.now, tc.length)
		if w.start != tc.start || w.end != tc.start+tc.length {
			t.Errorf("at %d by %d: window %v, want start %d", tc.now, tc.length, w, tc.start)
		}
		s := w.secondsLeft(tc.now)
		if s != tc.seconds {
			t.Errorf("at %d by %d: %d seconds left, want %d", tc.now, tc.length, s, tc.seconds)
		}
		// Contract A9: who waits exactly that long is in another window.
		if later := windowAt(tc.now+1000*s, tc.length); later.start < w.end {
			t.Errorf("at %d by %d: waiting %d s leads to window %v", tc.now, tc.length, s, later)
		}
	}
}
