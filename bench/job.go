package bench

import "net/http"

// The job: a GET with a path parameter and a query field, and a POST with a JSON
// body, each typed, checked, and answered in the wrapper of contract C1 with the
// headers of a-security.
const (
	pathStudent = "/api/demo/student"
	urlView     = pathStudent + "/12?year=2"
	urlCreate   = pathStudent
	bodyCreate  = `{"name":"Grace Hopper","year":2}`

	answerView   = `{"code":0,"message":"Success","data":{"id":12,"name":"Ada Lovelace","year":2}}`
	answerCreate = `{"code":0,"message":"Success","data":{"id":4,"name":"Grace Hopper","year":2}}`
)

// student is what both actions answer with.
type student struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Year int    `json:"year"`
}

// newStudent is the body of a create: year is 1 to 6, the name 1 to 50 long.
type newStudent struct {
	Name string `json:"name"`
	Year int    `json:"year"`
}

// view is the first action's work.
func view(id int64, year int) *student { return &student{ID: id, Name: "Ada Lovelace", Year: year} }

// create is the second one's.
func create(in *newStudent) *student { return &student{ID: 4, Name: in.Name, Year: in.Year} }

// wrapper is contract C1.
type wrapper struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Data    *student `json:"data"`
}

func wrap(s *student) wrapper { return wrapper{Message: "Success", Data: s} }

// typeJSON is the content type of every answer.
const typeJSON = "application/json; charset=utf-8"

// fixedHeader is what every answer carries besides its type and length.
var fixedHeader = [][2]string{
	{"Vary", "Origin"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "SAMEORIGIN"},
	{"Referrer-Policy", "strict-origin-when-cross-origin"},
}

// setFixed sets the fixed header, as most handlers would.
func setFixed(h http.Header) {
	for _, field := range fixedHeader {
		h.Set(field[0], field[1])
	}
}

// Bounds of the inputs.
const (
	minID   = 1
	maxYear = 6
	maxName = 50
)
