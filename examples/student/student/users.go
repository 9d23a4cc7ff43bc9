package student

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"

	"github.com/vonago/vonago/modules/auser"
	"github.com/vonago/vonago/passport"
)

// Users are the users, in memory and the same for all tenants: an auser.UserAdapter and auser.RoleAdapter. A service has
// them in its database.
type Users struct {
	hasher hasher
	decoy  hash // of a password that nobody knows

	mu   sync.Mutex
	rows []account
}

// account is one user with what it signs in with.
type account struct {
	user     passport.User
	password hash
	roles    []string
}

// NewUsers makes an administrator and a teacher. Their passwords stand here so that the example can be tried; it must
// not be reached from other hosts.
func NewUsers() *Users {
	u := &Users{hasher: newHasher()}
	ctx := context.Background() // nobody waits for a turn yet
	u.decoy, _ = u.hasher.hash(ctx, rand.Text())
	for _, row := range []struct {
		name, password string
		roles          []string
	}{
		{"admin", "admin-in-development", []string{passport.RoleSystemAdmin}},
		{"tom", "tom-in-development", []string{"teacher"}},
	} {
		password, _ := u.hasher.hash(ctx, row.password)
		u.rows = append(u.rows, account{u.next(passport.User{Name: row.name, Activated: true}), password, row.roles})
	}
	return u
}

// next gives a user its id. The caller holds the lock, or is alone.
func (u *Users) next(user passport.User) passport.User {
	user.ID = passport.StringID(strconv.Itoa(len(u.rows) + 1))
	return user
}

// Check gives the passport of a name and its password; nil without an error for a wrong password and for an unknown name,
// which takes as long: it is compared with a hash that nobody's password has.
func (u *Users) Check(ctx context.Context, name, password string) (*passport.Passport, error) {
	want, row := u.decoy, u.find(auser.UserQuery{Name: name})
	if row != nil {
		want = row.password
	}
	matches, err := u.hasher.matches(ctx, password, want)
	if err != nil || !matches || row == nil {
		return nil, err
	}
	// Each user has one way to sign in; its id is what limits and tokens go by.
	auth := passport.Auth{ID: passport.StringID("password-" + row.user.ID.String())}
	return &passport.Passport{User: row.user, Auth: auth, Roles: row.roles}, nil
}

// find gives a copy of a row; nil if there is none.
func (u *Users) find(by auser.UserQuery) *account {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, row := range u.rows {
		if !by.ID.IsZero() && row.user.ID == by.ID || by.ID.IsZero() && row.user.Name == by.Name {
			return &row
		}
	}
	return nil
}

// FindUser implements auser.UserAdapter.
func (u *Users) FindUser(_ context.Context, by auser.UserQuery) (*passport.User, error) {
	if row := u.find(by); row != nil {
		return &row.user, nil
	}
	return nil, nil //nolint:nilnil // as the interface says
}

// CreateUser implements auser.UserAdapter. The new user has no password, and so cannot sign in with one.
func (u *Users) CreateUser(_ context.Context, user passport.User) (*passport.User, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	user = u.next(user)
	u.rows = append(u.rows, account{user: user})
	return &user, nil
}

// ActivateUser implements auser.UserAdapter.
func (u *Users) ActivateUser(_ context.Context, id passport.ID) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range u.rows {
		if u.rows[i].user.ID == id {
			u.rows[i].user.Activated = true
			return nil
		}
	}
	return fmt.Errorf("activating a user: there is none with the id %s", id)
}

// RolesOf implements auser.RoleAdapter.
func (u *Users) RolesOf(_ context.Context, user passport.User) ([]string, error) {
	if row := u.find(auser.UserQuery{ID: user.ID}); row != nil {
		return row.roles, nil
	}
	return nil, nil
}
