package acore

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/vonago/vonago/onion"
)

const textTooLarge = "request entity too large"

// errTooLarge marks a body beyond its limit.
var errTooLarge = errors.New(textTooLarge)

// readBody reads and decompresses a body of at most limit bytes; an empty one is
// nil. Its errors are *onion.Error, as contract C7 says.
func readBody(c *onion.Call, limit int64) ([]byte, error) {
	encoding, err := contentEncoding(c.Header)
	if err != nil {
		return nil, err
	}
	if encoding == "" && c.Request.ContentLength > limit {
		return nil, bodyError(http.StatusRequestEntityTooLarge, textTooLarge, nil)
	}
	body := io.Reader(c.Request.Body)
	if length := c.Request.ContentLength; encoding == "" && 0 < length && length <= firstBuffer {
		raw, err := readSized(body, length)
		switch {
		case errors.Is(err, io.EOF):
			return raw, nil
		case err != nil:
			return nil, sourceError(err)
		}
		body = io.MultiReader(bytes.NewReader(raw), body) // more than was announced
	}
	source := &bounded{r: body, left: limit}
	if encoding != "" {
		// A compressed body is hardly ever longer than what it holds, but it can
		// be made to go on without holding anything: it has a bound too.
		source.left += limit/64 + 1024
	}
	raw, err := readPlain(source, encoding, limit, c.Request.ContentLength)
	switch {
	case err == nil:
		return raw, nil
	case source.read == 0 && errors.Is(source.err, io.EOF):
		return nil, nil // nothing was sent, so there is nothing to decompress
	case source.err != nil && !errors.Is(source.err, io.EOF):
		return nil, sourceError(source.err)
	case errors.Is(err, errTooLarge):
		return nil, sourceError(err)
	}
	return nil, bodyError(http.StatusBadRequest, "invalid "+encoding+" body", err)
}

// sourceError is for a body that could not be read to its end.
func sourceError(err error) *onion.Error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errTooLarge), errors.As(err, &tooLarge):
		return bodyError(http.StatusRequestEntityTooLarge, textTooLarge, nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyError(http.StatusRequestTimeout, "", err)
	}
	return bodyError(http.StatusBadRequest, "the body could not be read", err)
}

// contentEncoding gives "", "gzip" or "deflate".
func contentEncoding(header http.Header) (string, error) {
	values := header["Content-Encoding"]
	if len(values) == 0 {
		return "", nil
	}
	text := strings.Join(values, ",")
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "identity":
		return "", nil
	case "gzip", "x-gzip":
		return "gzip", nil
	case "deflate":
		return "deflate", nil
	}
	e := bodyError(http.StatusUnsupportedMediaType, fmt.Sprintf("unsupported content encoding %q", text), nil)
	e.Header = http.Header{"Accept-Encoding": {"gzip, deflate"}}
	return "", e
}

// readPlain reads the decompressed body. The client's word for the length only
// sizes the first buffer, and only up to a point.
func readPlain(source io.Reader, encoding string, limit, length int64) ([]byte, error) {
	plain, err := decompress(source, encoding)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.Grow(int(min(max(length, 0), firstBuffer)) + bytes.MinRead)
	if _, err := buf.ReadFrom(io.LimitReader(plain, limit+1)); err != nil {
		return nil, fmt.Errorf("reading the body: %w", err)
	}
	if int64(buf.Len()) > limit {
		return nil, errTooLarge
	}
	return buf.Bytes(), nil
}

// firstBuffer bounds the memory that a client's word alone gets.
const firstBuffer = 64 << 10

// readSized reads a body that comes as it is, with room for just what its sender
// said and the byte that would be one too many. The error is io.EOF where the body
// has ended, and nil where it goes on.
func readSized(body io.Reader, length int64) ([]byte, error) {
	raw := make([]byte, 0, length+1)
	for len(raw) < cap(raw) {
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err != nil {
			return raw, err
		}
	}
	return raw, nil
}

func decompress(source io.Reader, encoding string) (io.Reader, error) {
	switch encoding {
	case "gzip":
		return gzip.NewReader(source)
	case "deflate":
		// "deflate" means zlib, but some clients send the bare stream, and so
		// does Vona accept both.
		buffered := bufio.NewReader(source)
		if first, _ := buffered.Peek(1); len(first) == 1 && first[0]&0x0f == 8 {
			return zlib.NewReader(buffered)
		}
		return flate.NewReader(buffered), nil
	}
	return source, nil
}

// bounded reads at most left bytes, fails on more, and keeps its own error apart
// from those of a decompressor above it.
type bounded struct {
	r    io.Reader
	left int64
	read int64
	err  error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	// One byte beyond the bound tells too much from just enough.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	b.read += int64(n)
	b.left -= int64(n)
	b.err = err
	if b.left < 0 {
		b.err = errTooLarge
	}
	return n, b.err
}
