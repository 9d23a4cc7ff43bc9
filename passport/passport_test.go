package passport

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vonago/vonago/onion"
)

// The subject in every identity that was recorded from Vona (contract A5).
func TestSubjectVectors(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Identity string
			User           User
			Auth           Auth
		}
	}
	vectorFile(t, "ratekey.json", &file)
	checked := 0
	for _, tc := range file.Cases {
		_, want, found := strings.Cut(tc.Identity, "subject:")
		if !found {
			continue // key ip
		}
		checked++
		t.Run(tc.Name, func(t *testing.T) {
			p := &Passport{User: tc.User, Auth: tc.Auth}
			if got := p.Subject(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	if checked < 25 {
		t.Fatalf("only %d cases have a subject", checked)
	}
}

func TestSubjectOfUnfinishedPassports(t *testing.T) {
	for name, p := range map[string]*Passport{"none": nil, "empty": {}, "anonymous": Anonymous()} {
		if got := p.Subject(); got != "anonymous" || p.Authenticated() {
			t.Errorf("%s: subject %q, authenticated %v", name, got, p.Authenticated())
		}
	}
}

func TestCurrent(t *testing.T) {
	c := &onion.Call{}
	ctx := onion.WithCall(t.Context(), c)
	for name, p := range map[string]*Passport{"outside a call": Current(context.Background()), "before the guard": Current(ctx)} {
		if p.Authenticated() || !p.User.Anonymous || p.User.ID != NumberID(-1) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	p := &Passport{User: User{ID: StringID("1"), Name: "tom"}}
	Set(c, p)
	if Current(ctx) != p || Of(c) != p {
		t.Error("what was set is not current")
	}

	child := &onion.Call{}
	Inherit(c, child)
	if Of(child) != p {
		t.Error("the child call has another passport")
	}
	Inherit(&onion.Call{}, child)
	Inherit(nil, child)
	if Of(child) != p {
		t.Error("a parent without a passport took the child's")
	}
	Inherit(c, nil)

	if one, other := Current(context.Background()), Current(context.Background()); one == other {
		t.Error("two callers share one anonymous passport, which either could change")
	}
}

func TestNamesAndRoles(t *testing.T) {
	p := &Passport{User: User{ID: StringID("1"), Name: "tom"}, Roles: []string{"editor", "Admin"}}
	if !p.Named("bob", "tom") || p.Named("Tom") || p.Named() || p.Named("") {
		t.Error("names")
	}
	if !p.HasRole("editor") || p.HasRole("admin") || p.HasRole() || p.HasRole("") {
		t.Error("roles")
	}
	p.User.Anonymous = true
	if p.Named("tom") || p.HasRole("editor") {
		t.Error("an anonymous user has a name or a role")
	}
	var none *Passport
	if none.Named("") || none.HasRole("") {
		t.Error("no passport has a name or a role")
	}
}

func TestPassportAsJSON(t *testing.T) {
	p := Passport{User: User{ID: StringID("1"), Name: "tom", Activated: true}, Auth: Auth{ID: NumberID(7)}, Roles: []string{"a"}}
	got, err := json.Marshal(p)
	if want := `{"user":{"id":"1","name":"tom","activated":true},"auth":{"id":7},"roles":["a"]}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
	got, err = json.Marshal(Anonymous())
	if want := `{"user":{"id":-1,"anonymous":true}}`; err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
