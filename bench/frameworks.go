package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v4"
)

// chiJob is the job on chi, which routes and leaves the rest to the author.
func chiJob() http.Handler {
	r := chi.NewRouter()
	r.Get(pathStudent+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("id", chi.URLParam(r, "id"))
		yardstickView(w, r)
	})
	r.Post(pathStudent, yardstickCreate)
	return r
}

// ginInput is the input of both actions as gin binds and checks it.
type ginView struct {
	ID   int64 `uri:"id" binding:"min=1"`
	Year int   `form:"year" binding:"min=0,max=6"`
}

type ginCreate struct {
	Name string `json:"name" binding:"required,max=50"`
	Year int    `json:"year" binding:"min=1,max=6"`
}

// ginJob is the job on gin, with gin's own binding and rendering.
func ginJob(before ...gin.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(gin.Recovery())
	e.Use(before...)
	e.GET(pathStudent+"/:id", func(c *gin.Context) {
		var in ginView
		if c.ShouldBindUri(&in) != nil || c.ShouldBindQuery(&in) != nil {
			c.Status(http.StatusUnprocessableEntity)
			return
		}
		setFixed(c.Writer.Header())
		c.JSON(http.StatusOK, wrap(view(in.ID, in.Year)))
	})
	e.POST(pathStudent, func(c *gin.Context) {
		var in ginCreate
		if c.ShouldBindJSON(&in) != nil {
			c.Status(http.StatusUnprocessableEntity)
			return
		}
		setFixed(c.Writer.Header())
		c.JSON(http.StatusOK, wrap(create((*newStudent)(&in))))
	})
	return e
}

// echoJob is the job on echo with its binder; checks are by hand, as echo has none.
func echoJob() http.Handler {
	e := echo.New()
	e.GET(pathStudent+"/:id", func(c echo.Context) error {
		var in struct {
			ID   int64 `param:"id"`
			Year int   `query:"year"`
		}
		if c.Bind(&in) != nil || in.ID < minID || in.Year < 0 || in.Year > maxYear {
			return c.NoContent(http.StatusUnprocessableEntity)
		}
		setFixed(c.Response().Header())
		return c.JSON(http.StatusOK, wrap(view(in.ID, in.Year)))
	})
	e.POST(pathStudent, func(c echo.Context) error {
		var in newStudent
		if c.Bind(&in) != nil || in.Name == "" || len(in.Name) > maxName || in.Year < 1 || in.Year > maxYear {
			return c.NoContent(http.StatusUnprocessableEntity)
		}
		setFixed(c.Response().Header())
		return c.JSON(http.StatusOK, wrap(create(&in)))
	})
	return e
}

// fiberJob is the job on fiber, which has a server of its own (fasthttp).
func fiberJob() *fiber.App {
	a := fiber.New()
	answer := func(c fiber.Ctx, s *student) error {
		for _, field := range fixedHeader {
			c.Set(field[0], field[1])
		}
		return c.JSON(wrap(s), typeJSON)
	}
	a.Get(pathStudent+"/:id", func(c fiber.Ctx) error {
		id, err := strconv.ParseInt(c.Params("id"), 10, 64)
		year, errYear := strconv.Atoi(c.Query("year"))
		if err != nil || errYear != nil || id < minID || year < 0 || year > maxYear {
			return c.SendStatus(http.StatusUnprocessableEntity)
		}
		return answer(c, view(id, year))
	})
	a.Post(pathStudent, func(c fiber.Ctx) error {
		var in newStudent
		if json.Unmarshal(c.Body(), &in) != nil || in.Name == "" || len(in.Name) > maxName || in.Year < 1 || in.Year > maxYear {
			return c.SendStatus(http.StatusUnprocessableEntity)
		}
		return answer(c, create(&in))
	})
	return a
}

// humaOutput is an answer of huma's with the header as its fields.
type humaOutput struct {
	ContentType string `header:"Content-Type"`
	Vary        string `header:"Vary"`
	Nosniff     string `header:"X-Content-Type-Options"`
	Frame       string `header:"X-Frame-Options"`
	Referrer    string `header:"Referrer-Policy"`
	Body        wrapper
}

func humaAnswer(s *student) *humaOutput {
	return &humaOutput{
		ContentType: typeJSON, Vary: fixedHeader[0][1], Nosniff: fixedHeader[1][1],
		Frame: fixedHeader[2][1], Referrer: fixedHeader[3][1], Body: wrap(s),
	}
}

type humaView struct {
	ID   int64 `path:"id" minimum:"1"`
	Year int   `query:"year" minimum:"0" maximum:"6"`
}

type humaCreate struct {
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"50"`
		Year int    `json:"year" minimum:"1" maximum:"6"`
	}
}

// humaJob is the job on huma over net/http's own mux, the leanest of its routers.
func humaJob() http.Handler {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("bench", "1")
	config.CreateHooks = nil // they add a $schema to every answer
	config.Transformers = nil
	api := humago.New(mux, config)
	huma.Get(api, pathStudent+"/{id}", func(_ context.Context, in *humaView) (*humaOutput, error) {
		return humaAnswer(view(in.ID, in.Year)), nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "create", Method: http.MethodPost, Path: pathStudent, DefaultStatus: http.StatusOK,
	}, func(_ context.Context, in *humaCreate) (*humaOutput, error) {
		return humaAnswer(create(&newStudent{Name: in.Body.Name, Year: in.Body.Year})), nil
	})
	return mux
}
