package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
)

// yardstick is the job written by hand on net/http, with nothing left out and
// nothing in between: what a request cannot cost less than without tricks. The
// pipeline's allocations are held against it.
func yardstick() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStudent+"/{id}", yardstickView)
	mux.HandleFunc("POST "+pathStudent, yardstickCreate)
	return mux
}

func yardstickView(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < minID {
		refuse(w, "id")
		return
	}
	year, err := strconv.Atoi(r.URL.Query().Get("year"))
	if err != nil || year < 0 || year > maxYear {
		refuse(w, "year")
		return
	}
	yardstickAnswer(w, view(id, year))
}

func yardstickCreate(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 20<<20))
	if err != nil {
		refuse(w, "body")
		return
	}
	var in newStudent
	if err := json.Unmarshal(raw, &in); err != nil {
		refuse(w, "body")
		return
	}
	if in.Name == "" || len(in.Name) > maxName || in.Year < 1 || in.Year > maxYear {
		refuse(w, "body")
		return
	}
	yardstickAnswer(w, create(&in))
}

func yardstickAnswer(w http.ResponseWriter, s *student) {
	body, err := json.Marshal(wrap(s))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	setFixed(h)
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the client is gone
}

func refuse(w http.ResponseWriter, field string) {
	http.Error(w, "bad "+field, http.StatusUnprocessableEntity)
}

// tuned is the yardstick once more by someone who counts allocations: shared
// header values, pooled buffers. It is no bar, but shows what there is to gain.
func tuned() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathStudent+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		if err != nil || id < minID {
			refuse(w, "id")
			return
		}
		year, err := strconv.Atoi(r.URL.Query().Get("year"))
		if err != nil || year < 0 || year > maxYear {
			refuse(w, "year")
			return
		}
		tunedAnswer(w, view(id, year))
	})
	mux.HandleFunc("POST "+pathStudent, func(w http.ResponseWriter, r *http.Request) {
		b, _ := tunedBuffers.Get().(*bytes.Buffer)
		defer tunedBuffers.Put(b)
		b.Reset()
		if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, 20<<20)); err != nil {
			refuse(w, "body")
			return
		}
		var in newStudent
		if err := json.Unmarshal(b.Bytes(), &in); err != nil ||
			in.Name == "" || len(in.Name) > maxName || in.Year < 1 || in.Year > maxYear {
			refuse(w, "body")
			return
		}
		tunedAnswer(w, create(&in))
	})
	return mux
}

var tunedBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

var tunedHeader = map[string][]string{
	"Vary":                   {"Origin"},
	"X-Content-Type-Options": {"nosniff"},
	"X-Frame-Options":        {"SAMEORIGIN"},
	"Referrer-Policy":        {"strict-origin-when-cross-origin"},
	"Content-Type":           {typeJSON},
}

func tunedAnswer(w http.ResponseWriter, s *student) {
	b, _ := tunedBuffers.Get().(*bytes.Buffer)
	defer tunedBuffers.Put(b)
	b.Reset()
	if err := json.NewEncoder(b).Encode(wrap(s)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body := b.Bytes()[:b.Len()-1]
	h := w.Header()
	maps.Copy(h, tunedHeader)
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	_, _ = w.Write(body) // the client is gone
}
