package passport

import (
	"testing"

	"github.com/vonago/vonago/onion"
)

func TestNameGuards(t *testing.T) {
	user := func(o NameOptions, names ...string) onion.Use { o.Name = names; return UserNameGuard.Use(o) }
	role := func(o NameOptions, names ...string) onion.Use { o.Name = names; return RoleNameGuard.Use(o) }
	h := newHarness(t, harnessConfig{modules: []onion.Module{newUsers()}, routes: []onion.Route{
		route("userName", UserName("admin", "bob")),
		route("roleName", RoleName("systemAdmin")),
		route("editor", RoleName("none", "editor")),
		route("systemAdmin", SystemAdmin()),
		route("nobody", RoleName("none")),
		// One is enough.
		route("either", user(NameOptions{RejectWhenDismatched: onion.Off}, "tom"), role(NameOptions{}, "systemAdmin")),
		// Both are needed.
		route("both", user(NameOptions{PassWhenMatched: onion.Off}, "tom", "admin"), role(NameOptions{}, "systemAdmin")),
		route("neither", user(NameOptions{RejectWhenDismatched: onion.Off, PassWhenMatched: onion.Off}, "x")),
		route("public", Public(), UserName("admin")),
	}})
	const no = "Forbidden"
	for _, tc := range []struct{ action, admin, tom, anonymous string }{
		{"userName", "1", no, noToken},
		{"roleName", "1", no, noToken},
		{"editor", "1", "2", noToken},
		{"systemAdmin", "1", no, noToken},
		{"nobody", no, no, noToken},
		{"either", "1", "2", noToken},
		{"both", "1", no, noToken},
		{"neither", "1", "2", noToken},
		{"public", "1", no, noToken}, // 403 for an anonymous caller is 401
	} {
		for who, want := range map[string]string{"1": tc.admin, "2": tc.tom} {
			if got := h.call(tc.action, bearerCall(tokenOf(t, h, who))); got != want {
				t.Errorf("%s for user %s: got %q, want %q", tc.action, who, got, want)
			}
		}
		if got := h.call(tc.action, &onion.Call{}); got != tc.anonymous {
			t.Errorf("%s for nobody: got %q, want %q", tc.action, got, tc.anonymous)
		}
	}
	// A stateless payload names nobody: neither guard passes anyone.
	h = newHarness(t, harnessConfig{routes: []onion.Route{route("userName", UserName("admin")), route("roleName", RoleName("editor"))}})
	for _, action := range []string{"userName", "roleName"} {
		if got := h.call(action, bearerCall(tokenOf(t, h, "1"))); got != no {
			t.Errorf("%s without names: got %q", action, got)
		}
	}
}

func TestNamesAreNeeded(t *testing.T) {
	wantErrors(t, harnessConfig{routes: []onion.Route{route("a", RoleName())}}, "a-user:roleName", "name: give at least one name")
	wantErrors(t, harnessConfig{routes: []onion.Route{route("a", UserName("x", ""))}}, "a-user:userName", "name: an empty name matches nobody")
}

type tagged struct {
	onion.ControllerTag `name:"tagged" path:"tagged" roleName:"name=editor|systemAdmin"`

	Open   onion.Action[onion.Empty, string] `get:"open" passport:"public"`
	Admin  onion.Action[onion.Empty, string] `get:"admin" userName:"name=admin"`
	Fresh  onion.Action[onion.Empty, string] `get:"fresh" passport:"activated=false" roleName:"name=editor,rejectWhenDismatched=false"`
	Editor onion.Action[onion.Empty, string] `get:"editor"`
}

func TestPolicyTags(t *testing.T) {
	c := &tagged{Open: subject, Admin: subject, Fresh: subject, Editor: subject}
	m := onion.Basic{ModuleName: "demo-tagged", ModuleControllers: []onion.Declaration{onion.Tags(c)}}
	h := newHarness(t, harnessConfig{modules: []onion.Module{newUsers(), m}})
	for _, tc := range []struct{ action, user, want string }{
		{"open", "2", "2"}, {"open", "", noToken}, // the controller's role is asked after it
		{"admin", "1", "1"}, {"admin", "2", "Forbidden"},
		{"editor", "2", "2"}, {"editor", "3", "Forbidden"},
		{"fresh", "3", "3"}, {"fresh", "2", "Forbidden"},
	} {
		call := &onion.Call{}
		if tc.user != "" {
			call = bearerCall(tokenOf(t, h, tc.user))
		}
		if got := h.call(tc.action, call); got != tc.want {
			t.Errorf("%s for %q: got %q, want %q", tc.action, tc.user, got, tc.want)
		}
	}
}
