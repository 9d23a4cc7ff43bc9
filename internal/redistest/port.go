//go:build unix

package redistest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below the range from which the kernel takes the client ends of connections. Otherwise a client that
// dials the port of a server that is down can be given that very port, and so be connected to itself, and a server could find
// its port taken when it comes back. The port plus 10000, a cluster's bus, lies below that range too.
const (
	firstPort = 12000
	lastPort  = 21999
)

// given are the ports that this process was given. None is given twice: a server that is down may come back, and those that
// have not noticed its end, sentinels say, would take another one for it.
var given sync.Map

// freePort returns a loopback port on which nothing listens.
func freePort() (int, error) {
	l, port, err := listenFree()
	if err != nil {
		return 0, err
	}
	return port, l.Close()
}

// listenFree listens on a loopback port that was free.
func listenFree() (net.Listener, int, error) {
	err := errors.New("all were given before")
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // not a secret
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		var l net.Listener
		if l, err = listen(port); err == nil {
			return l, port, nil
		}
	}
	return nil, 0, fmt.Errorf("find a free port in %d..%d: %w", firstPort, lastPort, err)
}

func listen(port int) (net.Listener, error) {
	var cfg net.ListenConfig
	return cfg.Listen(context.Background(), "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}
