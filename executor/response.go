package executor

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// responseWriter is the way to the client. It notes what was sent, so that no
// response is written twice and the log can tell its size. Actions and mounted
// handlers that write themselves, flush, or take the connection over go through
// it too.
type responseWriter struct {
	http.ResponseWriter
	exchange *exchange
}

// WriteHeader sends the header. Informational ones but 101 do not begin the
// response.
func (w *responseWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) begin(status int) {
	if written := &w.exchange.call.Response.Written; written.Status == 0 {
		written.Status = status
	}
}

// Write sends part of the body.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.count(int64(n))
	return n, err
}

// ReadFrom lets the kernel copy a file to the connection.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin(http.StatusOK)
	n, err := io.Copy(w.ResponseWriter, r)
	w.count(n)
	return n, err
}

// count adds bytes that have left: those that are written in answer to a HEAD
// never do.
func (w *responseWriter) count(n int64) {
	if !w.exchange.head {
		w.exchange.call.Response.Written.Bytes += n
	}
}

// FlushError sends what is buffered.
func (w *responseWriter) FlushError() error {
	w.begin(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is FlushError for those who want an http.Flusher.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// Hijack takes the connection over; the response counts as a 101.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.begin(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
