package passport

import (
	"context"
	"errors"
	"slices"

	"github.com/vonago/vonago/onion"
)

// RoleSystemAdmin is the role that SystemAdmin asks for, the name of Vona's.
const RoleSystemAdmin = "systemAdmin"

// NameOptions are the options of the local guards a-user:userName and a-user:roleName. Guards can be combined: with
// RejectWhenDismatched off the next one is asked, with PassWhenMatched off the next one is asked too.
type NameOptions struct {
	// Name lists the names of which the caller must have one; at least one is needed.
	Name []string `json:"name"`
	// PassWhenMatched, on by default, lets a caller who has one of the names pass all guards that follow.
	PassWhenMatched onion.Toggle `json:"passWhenMatched"`
	// RejectWhenDismatched, on by default, refuses a caller who has none of the names.
	RejectWhenDismatched onion.Toggle `json:"rejectWhenDismatched"`
}

// Validate wants names: a guard without any would refuse everyone, or no one.
func (o NameOptions) Validate() error {
	if len(o.Name) == 0 {
		return &onion.OptionError{Path: []string{"name"}, Message: "give at least one name"}
	}
	if slices.Contains(o.Name, "") {
		return &onion.OptionError{Path: []string{"name"}, Message: "an empty name matches nobody"}
	}
	return nil
}

// UserNameGuard is a-user:userName, a local guard for users by name. Its tag key is userName.
var UserNameGuard = onion.Guard("a-user:userName", defaultNames, buildNames((*Passport).Named), onion.Mandatory(), onion.Tag("userName")).
	CheckLayer(checkNames)

// RoleNameGuard is a-user:roleName, a local guard for users by role. Its tag key is roleName.
var RoleNameGuard = onion.Guard("a-user:roleName", defaultNames, buildNames((*Passport).HasRole), onion.Mandatory(), onion.Tag("roleName")).
	CheckLayer(checkNames)

// checkNames keeps a tenant from opening what a route guards: as its layer is under the route's, it would hold where the
// route says nothing of it.
func checkNames(kind onion.LayerKind, o NameOptions) (warning string, err error) {
	if kind != onion.LayerInstance && kind != onion.LayerStored {
		return "", nil
	}
	var errs []error
	refuse := func(name string, said onion.Toggle) {
		if said != onion.Inherit {
			errs = append(errs, &onion.OptionError{Path: []string{name}, Message: "an instance may not decide whom this guard lets pass"})
		}
	}
	refuse("passWhenMatched", o.PassWhenMatched)
	refuse("rejectWhenDismatched", o.RejectWhenDismatched)
	return "", errors.Join(errs...)
}

func defaultNames() NameOptions {
	return NameOptions{PassWhenMatched: onion.On, RejectWhenDismatched: onion.On}
}

// UserName is for users with one of the names. For other options than the defaults use UserNameGuard.Use.
func UserName(names ...string) onion.Use { return UserNameGuard.UseAt(1, NameOptions{Name: names}) }

// RoleName is for users with one of the roles. For other options than the defaults use RoleNameGuard.Use.
func RoleName(names ...string) onion.Use { return RoleNameGuard.UseAt(1, NameOptions{Name: names}) }

// SystemAdmin is for users with the role systemAdmin, as in Vona: RoleName(RoleSystemAdmin).
func SystemAdmin() onion.Use {
	return RoleNameGuard.UseAt(1, NameOptions{Name: []string{RoleSystemAdmin}})
}

// buildNames makes the build of a guard that asks whether a passport matches names; an anonymous one never does.
func buildNames(matches func(p *Passport, names ...string) bool) func(NameOptions, onion.Env) (onion.CheckFunc, error) {
	return func(o NameOptions, _ onion.Env) (onion.CheckFunc, error) {
		return func(_ context.Context, c *onion.Call) (onion.Verdict, error) {
			matched := matches(held(c), o.Name...)
			switch {
			case matched && o.PassWhenMatched.True():
				return onion.Enough, nil
			case !matched && o.RejectWhenDismatched.True():
				return onion.Refuse, nil
			default:
				return onion.Pass, nil
			}
		}, nil
	}
}
