// Package student is the module demo-student of the example: students and sign-in
// declared by policy tags, passwords declared by code.
package student

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/vonago/vonago/onion"
	"github.com/vonago/vonago/passport"
)

// Student is one student.
type Student struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Year int    `json:"year"`
}

// Students is the controller of students. Each Action field is a route; its tags
// are its policies.
type Students struct {
	onion.ControllerTag `name:"student" path:"student"`

	List   onion.Action[ListInput, []Student]   `get:"" passport:"public"`
	Report onion.Action[onion.Empty, Report]    `get:"report" passport:"public" rateLimit:"enable,mode=enforce,limit=6,windowMs=60000"`
	Mine   onion.Action[MineInput, Mine]        `get:"mine"`
	View   onion.Action[ViewInput, *Student]    `get:":id" passport:"public"`
	Create onion.Action[CreateInput, *Student]  `post:"" passport:"public"`
	Remove onion.Action[ViewInput, onion.Empty] `delete:":id" roleName:"name=systemAdmin"`

	mu   sync.Mutex
	rows []Student
}

// NewStudents makes the controller with a few students.
func NewStudents() *Students {
	s := &Students{rows: []Student{{1, "Ada", 1}, {2, "Grace", 2}, {3, "Barbara", 2}}}
	s.List, s.Report, s.Mine = s.list, s.report, s.mine
	s.View, s.Create, s.Remove = s.view, s.create, s.remove
	return s
}

// ListInput filters the list.
type ListInput struct {
	// Name keeps students whose name contains it.
	Name string `query:"name" validate:"max=50"`
	// Year keeps students of that year; 0 keeps all.
	Year int `query:"year" validate:"min=0,max=6"`
}

func (s *Students) list(_ context.Context, in *ListInput) ([]Student, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Student
	for _, row := range s.rows {
		if strings.Contains(row.Name, in.Name) && (in.Year == 0 || in.Year == row.Year) {
			found = append(found, row)
		}
	}
	return found, nil
}

// Report counts students by year. It is the route limited to 6 calls a minute.
type Report struct {
	Students int         `json:"students"`
	ByYear   map[int]int `json:"byYear"`
}

func (s *Students) report(context.Context, *onion.Empty) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Students: len(s.rows), ByYear: map[int]int{}}
	for _, row := range s.rows {
		r.ByYear[row.Year]++
	}
	return r, nil
}

// MineInput takes the caller, who must be signed in: the action is not public.
type MineInput struct {
	User *passport.Passport `user:""`
}

// Mine says who is asking.
type Mine struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

func (s *Students) mine(_ context.Context, in *MineInput) (Mine, error) {
	return Mine{Name: in.User.User.Name, Roles: in.User.Roles}, nil
}

// ViewInput names a student.
type ViewInput struct {
	ID int64 `param:"id" validate:"min=1"`
}

func (s *Students) view(_ context.Context, in *ViewInput) (*Student, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(in.ID)
	if i < 0 {
		return nil, errNotFound()
	}
	found := s.rows[i]
	return &found, nil
}

// CreateInput holds a new student.
type CreateInput struct {
	Student NewStudent `body:""`
}

// NewStudent is the body of a create.
type NewStudent struct {
	Name string `json:"name" validate:"required,max=50"`
	Year int    `json:"year" validate:"min=1,max=6"`
}

func (s *Students) create(ctx context.Context, in *CreateInput) (*Student, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := Student{ID: int64(len(s.rows)) + 1, Name: in.Student.Name, Year: in.Student.Year}
	for s.index(row.ID) >= 0 {
		row.ID++
	}
	s.rows = append(s.rows, row)
	onion.CallFrom(ctx).Response.Status = http.StatusCreated
	return &row, nil
}

func (s *Students) remove(_ context.Context, in *ViewInput) (onion.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(in.ID)
	if i < 0 {
		return onion.Empty{}, errNotFound()
	}
	s.rows = slices.Delete(s.rows, i, i+1)
	return onion.Empty{}, nil
}

// index finds a student; the caller holds the lock.
func (s *Students) index(id int64) int {
	return slices.IndexFunc(s.rows, func(row Student) bool { return row.ID == id })
}

// errNotFound is a business error of this module (contract C2).
func errNotFound() error {
	return onion.BusinessError("demo-student", 1001, http.StatusNotFound, "no such student")
}
